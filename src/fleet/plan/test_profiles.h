// Profiles that several tests plan with: BEAM's measured ones, and random ones.
#pragma once

#include <rapidcheck.h>

#include <string>

#include "base/test_data.h"
#include "fleet/profile/read_profile.h"

namespace perjoule {

inline const std::string kBeamFolder = "serving/dvfs_profiles/";
inline const std::string kBeamLlama =
    kBeamFolder + "dynamo_dvfs_profile_A100-SXM4-80GB_meta-llama_Llama-3.3-70B-Instruct.csv";
inline const std::string kBeamQwenA100 =
    kBeamFolder + "dynamo_dvfs_profile_A100_80GB_PCIe_Qwen_Qwen2.5-14B.csv";
inline const std::string kBeamQwenA6000 =
    kBeamFolder + "dynamo_dvfs_profile_RTX_A6000_Qwen_Qwen2.5-14B.csv";

inline LatencyTarget mean_target(double ttft_ms, double tbt_ms) {
  return {{LatencyStatistic::kMean, Seconds(ttft_ms / 1000)},
          {LatencyStatistic::kMean, Seconds(tbt_ms / 1000)}};
}

/// Two layouts, up to three clocks, up to four loads; powers and latencies without any order, as
/// measured ones nearly are. At least one curve always keeps a target of 1 s and 1 s.
inline ServingProfile any_profile() {
  const double step = *rc::gen::element(100.0, 250.0, 333.3);
  const int clocks = *rc::gen::inRange(1, 4);
  const int loads = *rc::gen::inRange(1, 5);
  ServingProfile profile;
  for (const auto& [tp, pp] : {std::pair{8, 1}, std::pair{4, 1}}) {
    for (int clock = 1; clock <= clocks; ++clock) {
      ProfileCurve curve{{"m", "g", tp, pp}, 500.0 + 300 * clock, "", {}, Status::kMeasured, "t"};
      for (int i = 1; i <= loads; ++i) {
        ServingPoint point;
        point.load = step * i;
        point.power = Watts(*rc::gen::inRange(100, 1000));
        const bool kept = tp == 8 && clock == clocks;
        // Odd ends, so that the two never bind at the same load, nor at one of a grid.
        point.ttft[LatencyStatistic::kMean] =
            Seconds(kept ? 0.5 : *rc::gen::inRange(1, 14) / 10.0 + 0.0131);
        point.tbt[LatencyStatistic::kMean] =
            Seconds(kept ? 0.5 : *rc::gen::inRange(1, 14) / 10.0 + 0.0277);
        curve.points.push_back(point);
      }
      profile.curves.push_back(std::move(curve));
    }
  }
  return profile;
}

}  // namespace perjoule

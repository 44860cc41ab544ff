// The pipelines that benchmarks plan: recorded profiles in 1F1B.
#pragma once

#include <string>
#include <vector>

#include "figure.h"
#include "pipeline/plan/problem.h"

namespace perjoule::bench {

constexpr const char* kGpt = "real/stage_profile_gpt3-175b_a100_sxm.csv";

struct PipelineInstance {
  std::string figure;
  std::string shape;
  std::string profile;
  int microbatches;
  double blocking;
  double bar_ms;
  std::string lp = {};  ///< reference of the frontier, where this is the only place that reads it
};

inline const std::vector<PipelineInstance>& pipeline_instances() {
  static const std::vector<PipelineInstance> all = {
      {"pipeline_8x12", "8x12", kGpt, 12, 83.64, 10},
      {"pipeline_8x32", "8x32 uneven", "synthetic/syn_a40_uneven_s8.csv", 32, 65, 40},
      {"pipeline_8x96", "8x96", kGpt, 96, 83.64, 100},
      {"pipeline_8x128", "8x128", "synthetic/syn_a100_gpt_s8.csv", 128, 75, 150},
      {"pipeline_16x128", "16x128 uneven", "synthetic/syn_h100_uneven_s16.csv", 128, 100, 2000,
       "syn_16x128"},
  };
  return all;
}

/// A pipeline's parts, kept where the problem can refer to them.
struct Pipeline {
  PipelineProfile profile;
  PipelineSchedule schedule;
  PipelineProblem problem;

  Pipeline(PipelineProfile its_profile, int microbatches, double blocking)
      : profile(std::move(its_profile)),
        schedule(must(make_schedule("1f1b", {profile.stages(), microbatches, 1}))),
        problem(must(PipelineProblem::make(profile, schedule, {Watts(blocking), {}}))) {}
  Pipeline(const std::string& path, int microbatches, double blocking)
      : Pipeline(must(PipelineProfile::read(path)), microbatches, blocking) {}
  Pipeline(const Pipeline&) = delete;
};

}  // namespace perjoule::bench

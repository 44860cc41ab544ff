// What the simulated inference server counts, and its /metrics page: vLLM's names, so that whatever
// reads a real server's page reads this one.
//
//   counters.ttft.add(Seconds(0.05));
//   const std::string page = metrics_page(counters, gauges, "meta-llama/Llama-3.1-8B-Instruct");
//
// Beside them stand three counters of our own, `perjoule_twin_*`: the steps, and the seconds and
// joules that the tables say those took, to be held against what the GPU's own counter shows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace perjoule::twin {

/// Observations by their size. Plain data: copied when the page is asked for.
class ServeHistogram {
 public:
  /// Bounds rise and outlive the histogram; the last bucket, above them all, is added.
  explicit ServeHistogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}
  /// O(log bounds).
  void add(double value);
  void add(Seconds value) { add(value.value()); }

  std::span<const double> bounds() const { return bounds_; }
  /// How many fell into each bucket alone.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }
  std::uint64_t count() const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

// vLLM's bounds, in seconds (vllm/v1/metrics/loggers.py at commit 005a810b), and in tokens its
// steps of 1, 2 and 5.
inline constexpr std::array<double, 22> kTtftBounds = {
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
    1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
inline constexpr std::array<double, 19> kItlBounds = {
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80};
inline constexpr std::array<double, 21> kLatencyBounds = {
    0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
inline constexpr std::array<double, 18> kLengthBounds = {
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5};

enum class FinishReason { kStop, kLength, kAbort };
inline constexpr std::size_t kFinishReasons = 3;
/// "stop", "length" or "abort", as on the wire.
std::string_view word_of(FinishReason reason);

struct ServeCounters {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generation_tokens = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t prefix_queries = 0;  ///< tokens looked up in the prefix cache
  std::uint64_t prefix_hits = 0;
  std::array<std::uint64_t, kFinishReasons> finished = {};  ///< by FinishReason
  std::uint64_t prefill_steps = 0;
  std::uint64_t decode_steps = 0;
  ServeHistogram ttft{kTtftBounds};
  ServeHistogram itl{kItlBounds};
  ServeHistogram e2e{kLatencyBounds};
  ServeHistogram queue{kLatencyBounds};    ///< from arrival until first scheduled
  ServeHistogram prefill{kLatencyBounds};  ///< from then until the first token
  ServeHistogram decode{kLatencyBounds};   ///< from then until the last
  ServeHistogram prompt_length{kLengthBounds};
  ServeHistogram answer_length{kLengthBounds};
};

/// What holds now, and what the engine's driver reckons.
struct ServeGauges {
  int running = 0;
  int waiting = 0;
  double cache_usage = 0;  ///< of the KV cache's blocks, 0 to 1
  Seconds step_time = {};  ///< by the tables, of all steps so far
  Joules step_energy = {};
};

/// Prometheus's text format 0.0.4. O(buckets).
std::string metrics_page(const ServeCounters& counters, const ServeGauges& gauges,
                         std::string_view model);

}  // namespace perjoule::twin

// Windows aligned to ticks, on simulated GPUs whose exact energy is known.
#include <cmath>

#include "nvml_on_twin.h"

namespace perjoule {
namespace {

/// Worst and mean absolute error of ten windows of a little over 1 s under a load of 700 W.
struct EdgeErrors {
  double worst = 0;
  double mean = 0;
  double stated = 0;  ///< greatest random part, two sigma
};

class AlignedOnTwin : public NvmlOnTwin {
 protected:
  /// `idle_around`: the work fills the window and nothing runs around it, as a program's does.
  EdgeErrors edge_errors(bool aligned, bool idle_around) {
    EdgeErrors errors;
    Meter meter(machine_.sources(), *clock_);
    constexpr int kWindows = 10;
    for (int i = 0; i < kWindows; ++i) {
      if (!idle_around) load();
      pass(Seconds(1 + 0.0137 * i));
      WindowOptions options;
      options.sources = {gpu().info().id};
      options.tick_aligned = aligned;
      Window window = *meter.begin("x", options);
      const Joules before = world_->truth(0);
      if (idle_around) load();
      pass(Seconds(1.009 + 0.0091 * i));
      const Joules truth = world_->truth(0) - before;
      EXPECT_TRUE(world_->end_phase(0));
      if (!idle_around) load();
      const Energy used = window.end().total();
      const double error = std::abs((used.joules - truth).value());
      errors.worst = std::max(errors.worst, error);
      errors.mean += error / kWindows;
      errors.stated = std::max(errors.stated, 2 * used.random.value());
      EXPECT_TRUE(world_->end_phase(0));
    }
    return errors;
  }
};

TEST_F(AlignedOnTwin, TheTicksEdgeIsGoneUnderASteadyLoad) {
  discover_on({"h100"});
  const EdgeErrors plain = edge_errors(false, false);
  const EdgeErrors aligned = edge_errors(true, false);
  RecordProperty("unaligned_worst_j", std::to_string(plain.worst));
  RecordProperty("aligned_worst_j", std::to_string(aligned.worst));
  // A tick is worth 70 J.
  EXPECT_GT(plain.worst, 25);
  EXPECT_LT(plain.worst, 75);
  EXPECT_LT(aligned.worst, 0.9);
  EXPECT_LT(aligned.worst, 1.5 * aligned.stated);
  EXPECT_LT(aligned.stated, 3);
}

TEST_F(AlignedOnTwin, TheTicksEdgeIsGoneAroundAProgramThatWorksFromEndToEnd) {
  discover_on({"h100"});
  const EdgeErrors plain = edge_errors(false, true);
  const EdgeErrors aligned = edge_errors(true, true);
  RecordProperty("unaligned_worst_j", std::to_string(plain.worst));
  RecordProperty("aligned_worst_j", std::to_string(aligned.worst));
  EXPECT_GT(plain.worst, 15);
  EXPECT_LT(aligned.worst, 0.9);
}

TEST_F(AlignedOnTwin, GpusOfAllGenerationsAreWaitedForTogether) {
  discover_on({"v100", "a100", "h100", "h200", "gb300"});
  pass(3.0_s);
  Meter meter(machine_.sources(), *clock_);
  const Seconds before = world_->now();
  Window window = *meter.begin("x", {.tick_aligned = true});
  EXPECT_LT((world_->now() - before).value(), 0.22);
  pass(1.0_s);
  const Seconds ended = world_->now();
  const Measurement used = window.end();
  EXPECT_LT((world_->now() - ended).value(), 0.22);
  for (const SourceMeasurement& source : used.sources) {
    EXPECT_EQ(source.tick_aligned, source.info.kind == SourceKind::kEnergyCounter)
        << source.info.id;
  }
}

}  // namespace
}  // namespace perjoule

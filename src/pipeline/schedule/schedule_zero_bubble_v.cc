// Zero bubble V (Qi et al., "Zero Bubble Pipeline Parallelism", 2023, section 6; the handcrafted
// order, as PyTorch's ScheduleZBVZeroBubble has it): two chunks a stage, the model going down the
// stages with the first and back up with the second, so that the first stage holds the loss. No
// bubble where forward, backward and weight gradient take equally long, with the memory of 1F1B.
#include <algorithm>

#include "pipeline/schedule/schedules.h"

namespace perjoule {
namespace {

/// Steps of one stage. The counters are those of the order for enough microbatches; with fewer, the
/// surplus is left out, and what is left keeps its order.
class VOrder {
 public:
  VOrder(const ScheduleShape& shape, std::vector<PipelineStep>& steps)
      : microbatches_(shape.microbatches), steps_(steps) {}

  void forward(int chunk) { add(kForward, chunk, forwards_[chunk]++); }
  void backward(int chunk) { add(kBackward, chunk, backwards_[chunk]++); }
  void weight(int chunk) { add(kWeight, chunk, weights_[chunk]++); }
  void backward_and_weight(int chunk) {
    backward(chunk);
    weight(chunk);
  }
  int forwards(int chunk) const { return forwards_[chunk]; }
  bool weight_left(int chunk) const { return weights_[chunk] < backwards_[chunk]; }

 private:
  void add(std::uint32_t instruction, int chunk, int microbatch) {
    if (microbatch < microbatches_) steps_.push_back({instruction, chunk, microbatch});
  }
  int microbatches_;
  std::vector<PipelineStep>& steps_;
  int forwards_[2] = {0, 0};
  int backwards_[2] = {0, 0};
  int weights_[2] = {0, 0};
};

}  // namespace

PipelineSchedule zero_bubble_v(const ScheduleShape& shape) {
  PipelineSchedule schedule("zb-v", shape, {"forward", "backward", "weight"});
  schedule.shape.chunks = 2;
  const int enough = std::max(2 * shape.stages - 1, shape.microbatches);
  for (int stage = 0; stage < shape.stages; ++stage) {
    const int behind = shape.stages - stage;  // stages from this one on
    VOrder order(shape, schedule.stages.emplace_back());
    // Warm-up: down the first arm, then both arms in turn, then the first gradients.
    for (int i = 0; i < 2 * behind - 1; ++i) order.forward(0);
    for (int i = 0; i < stage; ++i) {
      order.forward(1);
      order.forward(0);
    }
    for (int i = 0; i < behind; ++i) {
      order.forward(1);
      order.backward_and_weight(1);
    }
    while (order.forwards(1) < order.forwards(0) || order.forwards(0) < enough) {
      if (order.forwards(0) < enough) order.forward(0);
      order.backward_and_weight(0);
      order.forward(1);
      order.backward_and_weight(1);
    }
    // Cool-down: gradients that the next stage waits for first, weights in what is left.
    for (int i = 0; i < stage; ++i) {
      order.backward(0);
      order.backward(1);
    }
    for (int i = 0; i < behind; ++i) order.backward_and_weight(0);
    while (order.weight_left(1)) order.weight(1);
    while (order.weight_left(0)) order.weight(0);
  }
  finish_schedule(schedule, ModelLayout::kVShape);
  return schedule;
}

}  // namespace perjoule

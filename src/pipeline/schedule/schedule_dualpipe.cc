// DualPipe (DeepSeek-V3 technical report, 2024; the order of DualPipe.step() in
// deepseek-ai/DualPipe): two streams of microbatches go through the stages in opposite directions.
// Stage s holds part s of the model for the first (chunk 0, microbatches 0 to M/2 - 1) and part
// S - 1 - s for the second (chunk 1, the others), and runs a forward of one together with a
// backward of the other.
//
// Instructions: "forward"; "backward", both gradients; "backward-input", that of the input alone,
// and "weight", the other, where a bubble is filled; "forwardbackward", a forward of one stream and
// a whole backward of the other, overlapped. With h = min(s, S - 1 - s), "ahead" the stream that
// enters nearer to the stage and "back" the other, a stage issues:
//   1. 2 (S/2 - h - 1) forwards ahead
//   2. h + 1 times: forward ahead, forward back
//   3. S/2 - h - 1 times: backward-input back, weight, forward back
//   4. M/2 - S + h + 1 times: forward ahead with backward back, forward back with backward ahead;
//      the very first pair of the two middle stages runs one behind the other
//   5. S/2 - h - 1 times: backward back, forward back with backward ahead
//   6. h + 1 times: backward back, backward ahead; from half way on backward-input
//   7. S/2 - h - 1 times: weight, backward-input ahead
//   8. h + 1 times: weight
// Weights are done in the order in which their backward-inputs were. The bubble of every stage is
// (S/2 - 1)(F&B + B - 3 W).
#include <fmt/format.h>

#include <deque>

#include "base/text.h"
#include "pipeline/schedule/schedules.h"

namespace perjoule {
namespace {

constexpr std::uint32_t kInput = 3;
constexpr std::uint32_t kFused = 4;

/// Steps of one stage; streams are told as seen from it.
class DualOrder {
 public:
  DualOrder(const ScheduleShape& shape, int stage, std::vector<PipelineStep>& steps)
      : nearer_(stage < shape.stages / 2 ? 0 : 1), half_(shape.microbatches / 2), steps_(steps) {}

  static constexpr int kAhead = 0;
  static constexpr int kBack = 1;

  void forward(int stream) { steps_.push_back({kForward, chunk(stream), next(forwards_, stream)}); }
  void backward(int stream) {
    steps_.push_back({kBackward, chunk(stream), next(backwards_, stream)});
  }
  void input(int stream) {
    pending_.push_back({kWeight, chunk(stream), next(backwards_, stream)});
    steps_.push_back({kInput, chunk(stream), pending_.back().microbatch});
  }
  void weight() {
    steps_.push_back(pending_.front());
    pending_.pop_front();
  }
  /// Forward of one stream with backward of the other.
  void together(int forward_stream) {
    const int microbatch = next(forwards_, forward_stream);
    const int backward = next(backwards_, 1 - forward_stream);
    steps_.push_back({kFused, chunk(forward_stream), microbatch, backward});
  }

 private:
  int chunk(int stream) const { return stream ^ nearer_; }
  int next(int (&counts)[2], int stream) const { return chunk(stream) * half_ + counts[stream]++; }
  int nearer_;  ///< chunk of the stream ahead
  int half_;
  std::vector<PipelineStep>& steps_;
  int forwards_[2] = {0, 0};
  int backwards_[2] = {0, 0};
  std::deque<PipelineStep> pending_;
};

void fill(DualOrder& order, const ScheduleShape& shape, int stage) {
  constexpr int kAhead = DualOrder::kAhead;
  constexpr int kBack = DualOrder::kBack;
  const int inward = std::min(stage, shape.stages - 1 - stage);  // h
  const int to_middle = shape.stages / 2 - inward - 1;
  const int main_steps = shape.microbatches / 2 - shape.stages + inward + 1;
  for (int i = 0; i < 2 * to_middle; ++i) order.forward(kAhead);
  for (int i = 0; i <= inward; ++i) {
    order.forward(kAhead);
    order.forward(kBack);
  }
  for (int i = 0; i < to_middle; ++i) {
    order.input(kBack);
    order.weight();
    order.forward(kBack);
  }
  for (int i = 0; i < main_steps; ++i) {
    if (i == 0 && to_middle == 0) {
      // The two middle stages would wait for one another's halves.
      order.forward(kAhead);
      order.backward(kBack);
    } else {
      order.together(kAhead);
    }
    order.together(kBack);
  }
  for (int i = 0; i < to_middle; ++i) {
    order.backward(kBack);
    order.together(kBack);
  }
  bool input_alone = false;
  const auto backward = [&](int stream) {
    if (input_alone) {
      order.input(stream);
    } else {
      order.backward(stream);
    }
  };
  const int half_way = (inward + 1) / 2;
  for (int i = 0; i <= inward; ++i) {
    if (i == half_way && inward % 2 == 1) input_alone = true;
    backward(kBack);
    if (i == half_way && inward % 2 == 0) input_alone = true;
    backward(kAhead);
  }
  for (int i = 0; i < to_middle; ++i) {
    order.weight();
    order.input(kAhead);
  }
  for (int i = 0; i <= inward; ++i) order.weight();
}

}  // namespace

Result<PipelineSchedule> dualpipe(const ScheduleShape& shape) {
  if (shape.stages % 2 != 0 || shape.microbatches % 2 != 0 ||
      shape.microbatches < 2 * shape.stages) {
    return Error::invalid_argument(
        fmt::format("dualpipe with {} and {}", counted(shape.stages, "stage"),
                    counted(shape.microbatches, "microbatch")),
        "its two streams meet half way: the stages are even, the microbatches even and at least "
        "twice as many");
  }
  PipelineSchedule schedule("dualpipe", shape,
                            {"forward", "backward", "weight", "backward-input", "forwardbackward"});
  schedule.shape.chunks = 2;
  for (int stage = 0; stage < shape.stages; ++stage) {
    DualOrder order(shape, stage, schedule.stages.emplace_back());
    fill(order, shape, stage);
  }
  finish_schedule(schedule, ModelLayout::kOpposite);
  return schedule;
}

}  // namespace perjoule

// What the instructions of one stage take at each setting, told apart while a training runs.
//
//   InstructionMeter meter(3);                       // forward, backward, waiting at one setting
//   meter.add(iteration.spans, kWaiting, iteration.ticks, begin, end);
//   const auto took = meter.solve();
//   took[0].time, took[0].power, took[0].power_sigma
//
// A counter of energy ticks every 20 to 100 ms, which is as long as an instruction. But between two
// ticks a stage spends known times in each instruction and in waiting, and the cumulated energy at
// the ticks is the sum of power times cumulated time over all of them. That is linear in the
// powers. A tick's moment is known to half the gap between two looks, which is the error of an
// equation and independent of the others'; its iteration's beginning is a constant that is
// eliminated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "math/least_squares.h"
#include "meter/counter_course.h"

namespace perjoule {

/// One instruction of an iteration, as it ran.
struct InstructionSpan {
  std::uint32_t kind = 0;  ///< whatever tells instructions and settings apart
  Seconds begin;           ///< since any moment
  Seconds end;
};

/// What one kind took.
struct InstructionTook {
  std::int64_t count = 0;
  Seconds time;         ///< mean of one; of waiting, all of it
  Seconds time_spread;  ///< standard deviation of one
  Watts power;
  Watts power_sigma;  ///< one standard error; that of the prior where no tick tells
};

class InstructionMeter {
 public:
  /// Kinds are numbered from 0 to `kinds` - 1.
  explicit InstructionMeter(std::uint32_t kinds);

  /// One iteration: spans in order and one behind the other, all else between `begin` and `end` is
  /// of the kind `waiting`. Ticks outside are left out. O(ticks x kinds^2 + spans).
  void add(std::span<const InstructionSpan> spans, std::uint32_t waiting,
           std::span<const CounterTick> ticks, Seconds begin, Seconds end);

  /// By kind. A power that the ticks do not tell is the mean of all, with a sigma of as much.
  std::vector<InstructionTook> solve() const;

 private:
  LeastSquares powers_;
  struct Times {
    std::int64_t count = 0;
    double sum = 0;
    double squares = 0;
  };
  std::vector<Times> times_;
  double energy_ = 0;   ///< J between the first and the last tick of each iteration
  double covered_ = 0;  ///< s there
  double jitter_ = 0;   ///< s, sum of the ticks' standard errors
  std::int64_t ticks_ = 0;
};

}  // namespace perjoule

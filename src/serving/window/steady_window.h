// The part of a run that its figures are of: where the load holds and neither the beginning nor the
// end shows. Two rules, beside one another, both functions of what was recorded:
//
//   full_batch_window    ML.ENERGY's, for all requests sent at once to a server that runs B of them
//   stationary_window    ours, for any load, without knowing B (stationary_window.h)
//
// What lies in a window is what came after `from` and not after `until`, so that windows side by
// side share no token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "serving/stream/request_record.h"

namespace perjoule {

enum class WindowRule { kFullBatch, kStationary };

struct SteadyWindow {
  Instant from;
  Instant until;
  WindowRule rule = WindowRule::kFullBatch;
  std::string warning;  ///< empty where there is none

  Seconds duration() const { return until - from; }
};

/// From the first instant at which `batch` requests have had their first token until the first at
/// which all but batch + 1 have ended, a failure as good as an answer: the batch is full between
/// the two. invalid_argument where N <= 2 B + 1 (the window is tiny or inverted), unavailable where
/// failures left the batch unfilled; a warning below N = 3 B. O(N log N).
Result<SteadyWindow> full_batch_window(const std::vector<RequestRecord>& records,
                                       std::size_t batch);

struct WindowTotals {
  std::int64_t output_tokens = 0;
  std::int64_t prompt_tokens = 0;  ///< of requests whose first token lies in it
  std::size_t first_tokens = 0;    ///< requests whose first token lies in it
  std::size_t responses = 0;       ///< that ended in it with success
  std::size_t failures = 0;        ///< that ended in it without
  double mean_open = 0;            ///< requests sent and not yet ended, over its time
  double mean_running = 0;         ///< of those, with a first token
};
/// O(chunks).
WindowTotals window_totals(const std::vector<RequestRecord>& records, const SteadyWindow& window);

/// The most tokens that came in one of the steps of time side by side, from the first token on,
/// over the step's length. Tokens, not chunks, so that it is at least the mean rate. O(chunks).
Hertz peak_token_rate(const std::vector<RequestRecord>& records, Seconds step);

/// A course of power by its samples, in order of time; between two of them it is the line through
/// them.
struct PowerReading {
  Instant at;
  Watts power;
};
/// data_loss where the samples do not reach from the one end to the other. O(samples).
Result<Joules> energy_between(const std::vector<PowerReading>& power, Instant from, Instant until);

}  // namespace perjoule

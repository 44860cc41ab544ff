// The longest stretch of a run in which it is stationary, for any load and without knowing the
// server's batch: neither the number of running requests (from first token to end), nor the rate
// of tokens, nor the power changes its level.
//
// Before the first request has run from beginning to end the load has not built up, nor is what
// runs of all ages; after the last request's first token it only falls. So the run is looked at
// from the first token of all and the median running time behind it, until the last request's
// first token: in 64 batches of equal time (fewer where power was sampled so rarely that a batch
// would have less than two samples). Of each the three courses' means are taken. Then
//
//   1. White's rule (MSER, on batch means) takes what is left of the warm-up off the beginning
//      and, read backwards, of the drain off the end, of all courses together;
//   2. of what remains, the longest stretch is looked for in which none of the three is rejected
//      by the KPSS test at 5 %. A course whose four quarters lie within 2 % of one another passes
//      in any case: on long runs the test rejects drifts too small to matter (a chip that warms);
//   3. the window's ends are moved back to the token before, so that no token is cut from its
//      energy.
//
// Where nothing of at least 16 batches passes, nothing is stationary and there is no window: the
// error says which course failed. A server that is sent more than it serves, at once or all the
// time, is stationary in these three, and its energies are; its queue is not, and neither are
// times to first token: that is said in the warning.
#pragma once

#include <array>
#include <vector>

#include "serving/window/steady_window.h"

namespace perjoule {

struct StationaryWindow {
  SteadyWindow window;
  Seconds batch;          ///< what one batch is long
  std::size_t begin = 0;  ///< the first batch in the window ...
  std::size_t end = 0;    ///< ... and the first behind it, of
  std::size_t batches = 0;
  /// The KPSS statistics of running requests, token rate and power (0 where no power was given).
  std::array<double, 3> kpss{};
  bool queue_is_level = true;  ///< requests that wait for their first token, by the same test
};

/// `power` may be empty: then two courses decide. invalid_argument where there are too few requests
/// or samples to tell, unavailable where nothing is stationary. O(chunks + samples).
Result<StationaryWindow> stationary_window(const std::vector<RequestRecord>& records,
                                           const std::vector<PowerReading>& power);

}  // namespace perjoule

// The requests of a simulation as they come, never all of them at the same time.
//
//   PJ_TRY(AzureTrace trace, AzureTrace::open("conv.csv"));
//   const auto stream = replayed(std::move(trace), {.copies = 10, .seed = 1});
//   for (;;) {
//     PJ_TRY(const std::optional<FleetRequest> request, stream->next());
//     if (!request) break;
//   }
//
// A trace is replayed as it is, or, to make more load of it, each request so often, every copy at
// an instant drawn evenly from the minute (counted from the first arrival) that the request came
// in: a minute's load is kept, bursts within it are evened out. Or requests are drawn: Poisson
// arrivals at the rate of a load curve, lengths picked from those of a trace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/azure_trace.h"

namespace perjoule {

struct FleetRequest {
  Seconds arrival = {};
  std::int64_t prompt = 0;
  std::int64_t output = 0;
};

class RequestStream {
 public:
  virtual ~RequestStream() = default;
  /// By arrival, none before the one before it; nothing at the end. Errors of the source.
  virtual Result<std::optional<FleetRequest>> next() = 0;
  /// Requests of the source so far that came before one that stood before them. They are sorted in
  /// where that is possible, and come with the next one otherwise.
  virtual std::uint64_t out_of_order() const { return 0; }
};

struct ReplayOptions {
  int copies = 1;  ///< 1: every request once, at its own instant
  std::uint64_t seed = 1;
};
/// Memory: one minute's requests.
std::unique_ptr<RequestStream> replayed(AzureTrace trace, ReplayOptions options);

/// A stretch of constant rate.
struct RateBin {
  Seconds begin = {};
  Seconds end = {};
  Hertz rate = {};
};
/// Lengths are picked evenly from `lengths`, which has at least one; bins by rising time. Memory:
/// the bins and the lengths.
std::unique_ptr<RequestStream> drawn(std::vector<RateBin> bins, std::vector<TokenLengths> lengths,
                                     std::uint64_t seed);

}  // namespace perjoule

// The latencies of a run: of its successful requests only, with the failures counted beside them,
// and goodput under limits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "serving/stream/request_record.h"
#include "serving/window/latency.h"

namespace perjoule {

/// Percentiles between two values lie on the line through them (Hyndman and Fan's type 7).
struct LatencySeries {
  std::size_t count = 0;  ///< 0: all else is 0 and means nothing
  Seconds mean;
  Seconds p50;
  Seconds p90;
  Seconds p95;
  Seconds p99;
  Seconds most;
};
LatencySeries latency_series(const std::vector<Seconds>& values);

struct LatencyReport {
  // What became of the requests.
  std::size_t requests = 0;
  std::size_t succeeded = 0;
  std::size_t cancelled = 0;               ///< still open at the end: neither succeeded nor failed
  std::array<std::size_t, 11> failures{};  ///< by Failure
  std::size_t retries = 0;
  std::size_t not_streamed = 0;  ///< succeeded, without a TTFT and gaps, as they came in one piece
  std::size_t without_text = 0;  ///< succeeded, without a token that could be seen

  // Of those that succeeded.
  LatencySeries first_byte;
  LatencySeries first_chunk;
  LatencySeries ttft;
  LatencySeries first_reasoning;
  LatencySeries first_answer;
  LatencySeries second_token;
  LatencySeries tpot;       ///< one value a request
  LatencySeries itl;        ///< one value a token
  LatencySeries chunk_gap;  ///< one value a chunk
  LatencySeries e2el;
  double first_chunk_tokens = 0;  ///< mean, of the streamed ones with text
  Bursts bursts;

  /// Of all that were sent: from when the load wanted them sent. In an open loop the client's own
  /// delay, in a closed one the time in its queue; no part of any latency above.
  LatencySeries send_delay;

  std::size_t failed() const { return requests - succeeded - cancelled; }
  /// Of the requests that came to an end.
  double failed_share() const;
};
/// O(tokens log tokens).
LatencyReport latency_report(const std::vector<RequestRecord>& records);

/// Limits that a request must keep; those that are there.
struct LatencyLimits {
  std::optional<Seconds> ttft = {};
  std::optional<Seconds> tpot = {};
  std::optional<Seconds> itl = {};  ///< of the 99th percentile of the request's token gaps
  std::optional<Seconds> e2el = {};
};
/// Whether it succeeded within all of them. What could not be measured (a TTFT where nothing is
/// streamed) is not kept; a TPOT or ITL without a second token is.
bool meets(const RequestRecord& record, const LatencyLimits& limits);

struct Goodput {
  std::size_t met = 0;
  std::size_t judged = 0;   ///< all but those cancelled at the end: a failure has met nothing
  std::int64_t tokens = 0;  ///< output of those that met
  double share = 0;
  Hertz requests;    ///< that met, a second
  Hertz token_rate;  ///< of those
};
Goodput goodput(const std::vector<RequestRecord>& records, const LatencyLimits& limits,
                Seconds duration);

}  // namespace perjoule

// Load for an OpenAI-compatible server, and the record of each request of it.
//
//   LoadOptions options{.url = url, .load = OpenLoad{times}};     // or ClosedLoad{32, 1024}
//   PJ_TRY(const LoadRun run, generate_load(set, options, clock));
//   if (run.bottleneck) return Error(*run.bottleneck) ...
//
// An open load sends by the clock, whatever the server does: at `scheduled` or as soon after as the
// client can. A closed one keeps so many requests open and sends the next the moment one ends, be
// it in failure. Requests are taken from the set in turn, from its beginning again at its end.
//
// Nothing is sent again unless it is asked for (`most_retries`): a server that is too busy (429,
// 503) has refused the request, and the record has its words, Retry-After among them. Retries
// distort latencies and energy, so they are counted. The one exception is http_stream.h's, of a
// kept connection that had ended; the record counts it among its retries.
//
// One thread does all of it, so a client that cannot keep up delays what it sends and what it
// stamps. It watches itself: by how much later than scheduled it sends, and by how much later than
// set a timer of 5 ms is called. A run where one in a hundred of either is beyond a bound says so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "net/http_stream.h"
#include "serving/load/request_set.h"
#include "serving/stream/request_record.h"
#include "serving/stream/token_stream.h"

namespace perjoule {

/// A request at each of these, from the beginning of the run on (arrivals.h).
struct OpenLoad {
  std::vector<Seconds> times = {};
};

struct ClosedLoad {
  std::size_t concurrency = 1;  ///< requests open at a time
  std::size_t requests = 1;     ///< in all
};

/// Each from the instant the request was sent, but for the one between tokens. None: no limit.
struct TokenTimeouts {
  std::optional<Seconds> first_token = {};
  std::optional<Seconds> inter_token = {};  ///< between two chunks with text or tokens
  std::optional<Seconds> total = {};
};

struct LoadProgress {
  Seconds elapsed;        ///< since the run began
  std::size_t sent = 0;   ///< requests
  std::size_t ended = 0;  ///< of those
  std::size_t total = 0;  ///< that may be sent
};

struct LoadOptions {
  HttpUrl url = {};
  std::variant<OpenLoad, ClosedLoad> load = ClosedLoad{};
  HttpClientOptions http = {};  ///< of its time-outs the one for connecting
  TokenTimeouts timeouts = {};
  TokenStreamOptions stream = {};
  /// Sent as a bearer token where it is set. The token is in no record and no message.
  std::string token_variable = "OPENAI_API_KEY";
  std::vector<HttpField> fields = {};  ///< more of them
  /// So many requests, the set's first, are sent and awaited before the run, up to 16 at a time;
  /// nobody is told of them. The run goes on behind them in the set, so that no prompt of it is in
  /// the server's cache.
  std::size_t warm_up = 0;
  std::optional<Seconds> send_for = {};  ///< nothing is scheduled any more from then on
  /// So long behind the last request's sending, what is still open is cancelled. None: all ends.
  std::optional<Seconds> drain = {};
  /// How often a request that was refused for now is sent again, after what the server's
  /// Retry-After says. Its record is the last attempt's, with the first one's `scheduled`.
  int most_retries = 0;
  Seconds most_delay = Seconds(0.01);  ///< beyond which the client is the bottleneck
  /// Told now and again while the run goes on, from its own thread: it must be quick.
  std::function<void(const LoadProgress&)> progress = {};
};

struct DelaySummary {
  Seconds median = {};
  Seconds p99 = {};
  Seconds longest = {};
};

struct LoadRun {
  std::vector<RequestRecord> records;  ///< of all that were sent, by `scheduled`
  Instant begun;                       ///< where the load's times count from
  Instant ended;                       ///< the last request
  DelaySummary send_delay;  ///< from `scheduled` until the request was handed to its connection
  DelaySummary loop_delay;  ///< of a timer, for as long as the run went on
  std::uint64_t connections = 0;    ///< that were made, those of the warm-up among them
  std::optional<Error> bottleneck;  ///< unavailable where the client was one
};

/// Blocks until all requests have ended. Ends early, what is open cancelled, where `stop` says so.
/// invalid_argument for a load of nothing, out_of_range where the system allows too few open
/// descriptors for it, unavailable where no request of the warm-up was answered; what else
/// HttpClient::create says.
Result<LoadRun> generate_load(const RequestSet& set, const LoadOptions& options, const Clock& clock,
                              const std::stop_token& stop = {});

}  // namespace perjoule

// Queries of Prometheus and of what speaks its HTTP API (VictoriaMetrics, Thanos, Mimir), in
// PromQL.
//
//   PJ_TRY(const HttpUrl url, HttpUrl::parse("http://prometheus:9090"));
//   const Prometheus server({.url = url}, clock);
//   PJ_TRY(const PromAnswer now, server.instant("up{job=\"dcgm\"}", at));
//   PJ_TRY(const PromAnswer course, server.range("sum(DCGM_FI_DEV_POWER_USAGE)", from, until,
//   step));
//
// A range's points are what the query gives at each step, up to five minutes old; the samples
// themselves, with the instants of their scrapes, are the answer to an instant query of a range
// vector: "DCGM_FI_DEV_POWER_USAGE[10m]".
//
// All instants are seconds since 1970, on the server's clock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "net/http_stream.h"
#include "net/prometheus_text.h"

namespace perjoule {

struct PromPoint {
  Seconds at;
  double value = 0;  ///< may be infinite or not a number

  bool operator==(const PromPoint&) const = default;
};

struct PromSeries {
  std::vector<MetricLabel> labels;  ///< its name among them, as `__name__`, where it has one
  std::vector<PromPoint> points;    ///< by instant; one of an instant query

  /// The label's value; empty where there is none, which Prometheus takes to be the same.
  std::string_view label(std::string_view name) const;
};

struct PromAnswer {
  std::vector<PromSeries> series;
  std::vector<std::string> warnings;  ///< the server's own, of answers that are not whole
};

/// The body of an answer of /api/v1/query or /api/v1/query_range: a vector, a matrix or a scalar.
/// What the server refuses is its errorType: invalid_argument for bad_data, timeout, unavailable,
/// and internal for the rest, with its words. data_loss for what is no such answer, a series whose
/// instants do not rise among them, not_supported for native histograms and strings. O(bytes).
Result<PromAnswer> parse_promql_answer(std::string_view json);

struct PrometheusOptions {
  HttpUrl url = {};  ///< a path is put before /api/v1, for servers behind a proxy
  HttpClientOptions http = {};
  Seconds timeout = Seconds(30);  ///< of a query, connecting included; the server is told of it
  /// Sent as a bearer token where it is set. The token is in no message.
  std::string token_variable = "PERJOULE_PROMETHEUS_TOKEN";
};

class Prometheus {
 public:
  /// Asks nobody yet. The clock must be the system's, and outlive it.
  Prometheus(PrometheusOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  /// What the query is at that instant. Blocks; parse_promql_answer()'s errors, and unavailable,
  /// timeout, permission_denied (401, 403) and not_found, naming the server and what to do.
  Result<PromAnswer> instant(std::string_view query, Seconds at) const;
  /// The same at `from` and each step behind it until `until`. Servers refuse more than 11,000.
  Result<PromAnswer> range(std::string_view query, Seconds from, Seconds until, Seconds step) const;

 private:
  Result<PromAnswer> ask(const std::string& path, const std::string& form) const;

  PrometheusOptions options_;
  const Clock& clock_;
};

}  // namespace perjoule

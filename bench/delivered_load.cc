// Whether the load that was asked for is the load that was delivered: an open loop against the
// simulated inference server, 8 tokens a response.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "figure.h"
#include "real_time.h"
#include "serving/load/arrivals.h"
#include "serving/load/load_generator.h"
#include "twin_server.h"

namespace pb = perjoule::bench;

namespace {

using namespace perjoule;

constexpr Seconds kTime = Seconds(10);  ///< of each rate
constexpr int kTokens = 8;
constexpr double kBoundUpTo = 200;  ///< requests a second
constexpr Seconds kMostDelay = Seconds(0.002);
constexpr double kMostError = 0.005;  ///< of the rate

RequestSet requests(const std::string& model) {
  std::vector<Prompt> prompts(64);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    prompts[i].text = fmt::format("\"how many joules is token {} of a sentence\"", i);
  RequestShape shape{.endpoint = Endpoint::kCompletions, .model = model, .max_tokens = kTokens};
  shape.has_fixed_length = true;
  return pb::must(make_requests(prompts, shape));
}

/// Events a second, by a straight line through their instants: neither the latency of the first and
/// the last one is in it, nor the gap before the first.
double rate_of(std::vector<Seconds> at) {
  std::sort(at.begin(), at.end());
  const auto count = static_cast<double>(at.size());
  double mean_at = 0;
  for (const Seconds one : at) mean_at += one.value() / count;
  double ranks_at = 0;
  double at_at = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double off = at[i].value() - mean_at;
    ranks_at += (static_cast<double>(i) - (count - 1) / 2) * off;
    at_at += off * off;
  }
  return ranks_at / at_at;
}

struct Delivery {
  LoadRun run;
  double rate_error = 0;  ///< of the responses against what was asked for, relative
  std::size_t failed = 0;
  std::string failure = {};  ///< the first one's words
  double latency_ms = 0;     ///< median
};

Delivery deliver(double rate, Seconds time, const pb::TwinServer& server) {
  Arrivals arrivals{.law = ArrivalLaw::kPoisson, .rate = Hertz(rate)};
  arrivals.has_exact_mean = true;
  const OpenLoad load{
      pb::must(arrival_times(arrivals, static_cast<std::size_t>(rate * time.value()), 1))};
  LoadOptions options;
  options.url = pb::must(HttpUrl::parse(server.url()));
  options.load = load;
  options.token_variable.clear();
  options.warm_up = 16;
  const RealClock clock;
  Delivery made{.run = pb::must(generate_load(requests(server.model()), options, clock))};
  std::vector<Seconds> ended;
  std::vector<double> latencies;
  for (const RequestRecord& record : made.run.records) {
    ended.push_back(record.ended - made.run.begun);
    latencies.push_back((record.ended - record.scheduled).value() * 1e3);
    if (record.succeeded() && record.response.tokens.output == kTokens) continue;
    if (made.failed++ == 0) made.failure = "; the first failure: " + record.message;
  }
  made.failed += load.times.size() - made.run.records.size();
  made.rate_error = rate_of(ended) / rate_of(load.times) - 1;
  std::sort(latencies.begin(), latencies.end());
  made.latency_ms = latencies[latencies.size() / 2];
  return made;
}

std::string words(const DelaySummary& delay) {
  return fmt::format("median {:.3f}, P99 {:.3f}, largest {:.2f} ms", delay.median.value() * 1e3,
                     delay.p99.value() * 1e3, delay.longest.value() * 1e3);
}

void measure(double rate, const pb::TwinServer& server) {
  std::string priority = "ordinary priority";
  std::optional<Delivery> first;
  {
    const pb::RealTime before_others;
    if (before_others.is_allowed()) priority = "real-time priority";
    first = deliver(rate, kTime, server);
  }
  const Delivery behind = deliver(rate, kTime / 2, server);
  const LoadRun& run = first->run;
  const bool has_bound = rate <= kBoundUpTo;
  const bool is_delivered = first->failed == 0 && std::abs(first->rate_error) <= kMostError;
  const bool is_in_time = !has_bound || run.send_delay.p99 <= kMostDelay;
  pb::print(
      {.figure = fmt::format("delivered_{:.0f}", rate),
       .value = run.send_delay.p99.value() * 1e3,
       .unit = "ms, P99 of the send delay",
       .bar = has_bound ? "<= 2, rate within 0.5 %" : "rate within 0.5 %",
       .pass = is_delivered && is_in_time && !run.bottleneck,
       .detail = fmt::format(
           "{} requests in {:.0f} s, Poisson, {} tokens each; responses a second {:+.2f} % of "
           "what was asked for; send delay {}, client at {}; {} requests failed; median "
           "latency {:.0f} ms, {} connections{}{}. Behind the machine's other threads: send "
           "delay {}, responses {:+.2f} %",
           run.records.size(), kTime.value(), kTokens, 100 * first->rate_error,
           words(run.send_delay), priority, first->failed, first->latency_ms, run.connections,
           run.bottleneck ? "; " + run.bottleneck->message : "", first->failure,
           words(behind.run.send_delay), 100 * behind.rate_error)});
}

}  // namespace

int main() {
  // Faster than a GPU is, so that the server is not what limits the rate.
  const pb::TwinServer server(PERJOULE_COMMAND, {"--max-num-seqs", "1024", "--speed", "4"});
  for (const double rate : {50.0, 200.0, 1000.0}) measure(rate, server);
}

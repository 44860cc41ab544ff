#include "serving/window/steady_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace perjoule {

Result<SteadyWindow> full_batch_window(const std::vector<RequestRecord>& records,
                                       std::size_t batch) {
  const std::size_t requests = records.size();
  if (batch == 0) return Error::invalid_argument("the server's batch is 0 requests");
  if (requests <= 2 * batch + 1) {
    return Error::invalid_argument(
        fmt::format("no window of steady state: {} requests for a batch of {}: the batch empties "
                    "before it was full for any time",
                    requests, batch),
        fmt::format("send at least {} requests", 3 * batch));
  }
  std::vector<Instant> first_tokens;
  std::vector<Instant> ends;
  for (const RequestRecord& record : records) {
    if (record.response.first_token) first_tokens.push_back(*record.response.first_token);
    ends.push_back(record.ended);
  }
  if (first_tokens.size() < batch) {
    return Error::unavailable(
        fmt::format("no window of steady state: only {} of {} requests had a first token, of a "
                    "batch of {}",
                    first_tokens.size(), requests, batch),
        "see why the others failed");
  }
  std::sort(first_tokens.begin(), first_tokens.end());
  std::sort(ends.begin(), ends.end());
  SteadyWindow window;
  window.from = first_tokens[batch - 1];
  window.until = ends[requests - batch - 2];
  if (window.until <= window.from) {
    return Error::unavailable(
        fmt::format("no window of steady state: {} of {} requests had ended before {} of them had "
                    "a first token",
                    requests - batch - 1, requests, batch),
        "the batch was never full: ask for a smaller one, or use the rule for open load");
  }
  if (requests < 3 * batch) {
    window.warning =
        fmt::format("a short window: {} requests for a batch of {}, where {} or more are wanted",
                    requests, batch, 3 * batch);
  }
  return window;
}

WindowTotals window_totals(const std::vector<RequestRecord>& records, const SteadyWindow& window) {
  WindowTotals totals;
  Seconds open;
  Seconds running;
  const auto is_in = [&window](Instant at) { return at > window.from && at <= window.until; };
  const auto overlap = [&window](Instant from, Instant until) {
    return std::max(Seconds(0), std::min(until, window.until) - std::max(from, window.from));
  };
  for (const RequestRecord& record : records) {
    const Response& response = record.response;
    for (const Chunk& chunk : response.chunks) {
      if (is_in(chunk.at)) totals.output_tokens += chunk.tokens;
    }
    if (response.first_token && is_in(*response.first_token)) {
      ++totals.first_tokens;
      totals.prompt_tokens += response.tokens.prompt.value_or(0);
    }
    if (is_in(record.ended)) ++(record.succeeded() ? totals.responses : totals.failures);
    open += overlap(record.sent, record.ended);
    running += overlap(response.first_token.value_or(record.ended), record.ended);
  }
  if (window.from < window.until) {
    totals.mean_open = open / window.duration();
    totals.mean_running = running / window.duration();
  }
  return totals;
}

Hertz peak_token_rate(const std::vector<RequestRecord>& records, Seconds step) {
  std::optional<Instant> first;
  for (const RequestRecord& record : records) {
    for (const Chunk& chunk : record.response.chunks)
      first = first ? std::min(*first, chunk.at) : chunk.at;
  }
  std::map<std::int64_t, std::int64_t> tokens;  // by step
  for (const RequestRecord& record : records) {
    for (const Chunk& chunk : record.response.chunks)
      tokens[static_cast<std::int64_t>((chunk.at - *first) / step)] += chunk.tokens;
  }
  std::int64_t most = 0;
  for (const auto& [at, count] : tokens) most = std::max(most, count);
  return static_cast<double>(most) / step;
}

Result<Joules> energy_between(const std::vector<PowerReading>& power, Instant from, Instant until) {
  if (power.empty() || power.front().at > from || power.back().at < until) {
    return Error::data_loss("the samples of power do not reach over the window",
                            "begin to sample before the load and end after it");
  }
  const auto at = [](const PowerReading& a, const PowerReading& b, Instant when) {
    if (b.at == a.at) return b.power;
    return a.power + (b.power - a.power) * ((when - a.at) / (b.at - a.at));
  };
  Joules energy;
  for (std::size_t i = 1; i < power.size(); ++i) {
    const PowerReading& a = power[i - 1];
    const PowerReading& b = power[i];
    const Instant begin = std::max(a.at, from);
    const Instant end = std::min(b.at, until);
    if (begin < end) energy += (at(a, b, begin) + at(a, b, end)) / 2 * (end - begin);
  }
  return energy;
}

}  // namespace perjoule

#include "serving/window/latency_report.h"

#include <algorithm>

#include "math/statistic.h"

namespace perjoule {
namespace {

/// The values of each series, as they are gathered.
struct Gathered {
  std::vector<Seconds> first_byte, first_chunk, ttft, first_reasoning, first_answer, second_token,
      tpot, itl, chunk_gap, e2el, send_delay;
};

void add(std::vector<Seconds>& to, const std::optional<Seconds>& value) {
  if (value) to.push_back(*value);
}

void add(std::vector<Seconds>& to, const std::vector<Seconds>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

}  // namespace

LatencySeries latency_series(const std::vector<Seconds>& values) {
  LatencySeries series;
  series.count = values.size();
  if (values.empty()) return series;
  std::vector<double> sorted;
  sorted.reserve(values.size());
  for (const Seconds value : values) sorted.push_back(value.value());
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  for (const double value : sorted) sum += value;
  series.mean = Seconds(sum / static_cast<double>(sorted.size()));
  series.p50 = Seconds(percentile(sorted, 0.50));
  series.p90 = Seconds(percentile(sorted, 0.90));
  series.p95 = Seconds(percentile(sorted, 0.95));
  series.p99 = Seconds(percentile(sorted, 0.99));
  series.most = Seconds(sorted.back());
  return series;
}

double LatencyReport::failed_share() const {
  const std::size_t ended = requests - cancelled;
  return ended == 0 ? 0 : static_cast<double>(failed()) / static_cast<double>(ended);
}

LatencyReport latency_report(const std::vector<RequestRecord>& records) {
  LatencyReport report;
  Gathered all;
  std::size_t with_text = 0;
  double first_chunk_tokens = 0;
  report.requests = records.size();
  for (const RequestRecord& record : records) {
    report.retries += static_cast<std::size_t>(record.retries);
    all.send_delay.push_back(record.sent - record.scheduled);
    if (record.failure == Failure::kCancelledAtEnd) ++report.cancelled;
    if (record.failed()) ++report.failures[static_cast<std::size_t>(record.failure)];
    if (!record.succeeded()) continue;
    ++report.succeeded;
    const Response& response = record.response;
    if (!response.is_streamed) ++report.not_streamed;
    if (!response.first_token) ++report.without_text;
    const RequestLatency latency = latency_of(record);
    add(all.first_byte, latency.first_byte);
    add(all.first_chunk, latency.first_chunk);
    add(all.ttft, latency.ttft);
    add(all.first_reasoning, latency.first_reasoning);
    add(all.first_answer, latency.first_answer);
    add(all.second_token, latency.second_token);
    add(all.tpot, latency.tpot);
    add(all.e2el, latency.e2el);
    add(all.itl, token_gaps(response));
    add(all.chunk_gap, chunk_gaps(response));
    if (response.is_streamed && response.first_token) {
      ++with_text;
      first_chunk_tokens += latency.first_chunk_tokens;
    }
  }
  report.first_byte = latency_series(all.first_byte);
  report.first_chunk = latency_series(all.first_chunk);
  report.ttft = latency_series(all.ttft);
  report.first_reasoning = latency_series(all.first_reasoning);
  report.first_answer = latency_series(all.first_answer);
  report.second_token = latency_series(all.second_token);
  report.tpot = latency_series(all.tpot);
  report.itl = latency_series(all.itl);
  report.chunk_gap = latency_series(all.chunk_gap);
  report.e2el = latency_series(all.e2el);
  report.send_delay = latency_series(all.send_delay);
  if (with_text > 0)
    report.first_chunk_tokens = first_chunk_tokens / static_cast<double>(with_text);
  report.bursts = find_bursts(records);
  return report;
}

bool meets(const RequestRecord& record, const LatencyLimits& limits) {
  if (!record.succeeded()) return false;
  const RequestLatency latency = latency_of(record);
  const bool can_have_gaps = record.response.is_streamed;
  if (limits.ttft && !(latency.ttft && *latency.ttft <= *limits.ttft)) return false;
  if (limits.e2el && !(latency.e2el && *latency.e2el <= *limits.e2el)) return false;
  if ((limits.tpot || limits.itl) && !can_have_gaps) return false;
  if (limits.tpot && latency.tpot && *latency.tpot > *limits.tpot) return false;
  return !limits.itl || latency_series(token_gaps(record.response)).p99 <= *limits.itl;
}

Goodput goodput(const std::vector<RequestRecord>& records, const LatencyLimits& limits,
                Seconds duration) {
  Goodput result;
  for (const RequestRecord& record : records) {
    if (record.failure == Failure::kCancelledAtEnd) continue;
    ++result.judged;
    if (!meets(record, limits)) continue;
    ++result.met;
    result.tokens += record.response.tokens.output;
  }
  const auto met = static_cast<double>(result.met);
  if (result.judged > 0) result.share = met / static_cast<double>(result.judged);
  if (duration > Seconds(0)) {
    result.requests = met / duration;
    result.token_rate = static_cast<double>(result.tokens) / duration;
  }
  return result;
}

}  // namespace perjoule

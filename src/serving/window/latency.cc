#include "serving/window/latency.h"

#include <algorithm>

namespace perjoule {
namespace {

/// Chunks of one choice that came at one instant.
struct Burst {
  Instant at;
  std::uint32_t tokens = 0;
};

/// From the choice's first text on; a burst without tokens (a part of a character) joins the next.
std::vector<Burst> bursts_of(const Response& response, std::uint32_t choice) {
  std::vector<Burst> bursts;
  for (const Chunk& chunk : response.chunks) {
    if (chunk.choice != choice || (bursts.empty() && !chunk.has_text())) continue;
    if (!bursts.empty() && bursts.back().at == chunk.at) {
      bursts.back().tokens += chunk.tokens;
    } else if (bursts.empty() || chunk.tokens > 0) {
      bursts.push_back({chunk.at, chunk.tokens});
    }
  }
  return bursts;
}

/// The choices that have chunks.
std::vector<std::uint32_t> choices_of(const Response& response) {
  std::vector<std::uint32_t> choices;
  for (const Chunk& chunk : response.chunks) {
    if (std::find(choices.begin(), choices.end(), chunk.choice) == choices.end())
      choices.push_back(chunk.choice);
  }
  std::sort(choices.begin(), choices.end());
  return choices;
}

std::optional<Seconds> since(Instant sent, const std::optional<Instant>& at) {
  if (!at) return std::nullopt;
  return *at - sent;
}

std::optional<Seconds> mean_of(const std::vector<Seconds>& gaps) {
  if (gaps.empty()) return std::nullopt;
  Seconds sum;
  for (const Seconds gap : gaps) sum += gap;
  return sum / static_cast<double>(gaps.size());
}

}  // namespace

std::vector<Seconds> token_gaps(const Response& response) {
  std::vector<Seconds> gaps;
  if (!response.is_streamed) return gaps;
  for (const std::uint32_t choice : choices_of(response)) {
    const std::vector<Burst> bursts = bursts_of(response, choice);
    for (std::size_t i = 1; i < bursts.size(); ++i) {
      const Seconds gap = (bursts[i].at - bursts[i - 1].at) / bursts[i].tokens;
      gaps.insert(gaps.end(), bursts[i].tokens, gap);
    }
  }
  return gaps;
}

std::vector<Seconds> chunk_gaps(const Response& response) {
  std::vector<Seconds> gaps;
  if (!response.is_streamed) return gaps;
  for (const std::uint32_t choice : choices_of(response)) {
    std::optional<Instant> before;
    for (const Chunk& chunk : response.chunks) {
      if (chunk.choice != choice || !chunk.has_text()) continue;
      if (before) gaps.push_back(chunk.at - *before);
      before = chunk.at;
    }
  }
  return gaps;
}

std::vector<Seconds> repaired_gaps(const std::vector<Seconds>& listed) {
  std::vector<Seconds> gaps;
  const auto is_gap = [](Seconds gap) { return gap > Seconds(0); };
  auto at = std::find_if(listed.begin(), listed.end(), is_gap);
  while (at != listed.end()) {
    const auto next = std::find_if(at + 1, listed.end(), is_gap);
    const auto tokens = static_cast<std::size_t>(next - at);
    gaps.insert(gaps.end(), tokens, *at / static_cast<double>(tokens));
    at = next;
  }
  return gaps;
}

RequestLatency latency_of(const RequestRecord& record) {
  const Response& response = record.response;
  RequestLatency latency;
  latency.first_byte = since(record.sent, response.first_byte);
  latency.e2el = since(record.sent, response.last_chunk);
  if (!response.is_streamed) return latency;
  latency.first_chunk = since(record.sent, response.first_chunk);
  latency.ttft = since(record.sent, response.first_token);
  latency.first_reasoning = since(record.sent, response.first_reasoning);
  latency.first_answer = since(record.sent, response.first_answer);
  latency.tpot = mean_of(token_gaps(response));
  if (latency.ttft && response.choices == 1 && response.tokens.output > 1) {
    latency.tpot_of_totals =
        (*latency.e2el - *latency.ttft) / static_cast<double>(response.tokens.output - 1);
  }
  const auto first = std::find_if(response.chunks.begin(), response.chunks.end(),
                                  [](const Chunk& chunk) { return chunk.has_text(); });
  if (first == response.chunks.end()) return latency;
  const std::vector<Burst> bursts = bursts_of(response, first->choice);
  latency.first_chunk_tokens = bursts.front().tokens;
  if (bursts.front().tokens > 1) {
    latency.second_token = Seconds(0);
  } else if (bursts.size() > 1) {
    latency.second_token = bursts[1].at - bursts[0].at;
  }
  return latency;
}

Bursts find_bursts(const std::vector<RequestRecord>& records) {
  constexpr std::size_t kEnough = 8;
  Bursts found;
  double chunks = 0;
  double bursts = 0;
  for (const RequestRecord& record : records) {
    if (!record.succeeded()) continue;
    const std::vector<Seconds> gaps = chunk_gaps(record.response);
    if (gaps.size() < kEnough) continue;
    ++found.judged;
    const Seconds limit = 0.1 * *mean_of(gaps);
    const auto brief = static_cast<std::size_t>(
        std::count_if(gaps.begin(), gaps.end(), [limit](Seconds gap) { return gap <= limit; }));
    if (brief * 2 < gaps.size()) continue;
    ++found.bursty;
    chunks += static_cast<double>(gaps.size() + 1);
    bursts += static_cast<double>(gaps.size() + 1 - brief);
  }
  if (bursts > 0) found.chunks_per_burst = chunks / bursts;
  return found;
}

}  // namespace perjoule

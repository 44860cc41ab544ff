#include "serving/stream/token_counts.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

std::int64_t sum_on(const std::vector<Chunk>& chunks) {
  std::int64_t sum = 0;
  for (const Chunk& chunk : chunks) sum += chunk.tokens;
  return sum;
}

/// Lays a total on the chunks with text by the length of it, one token at least on each where there
/// are enough. Rounding the running sums keeps their total.
void lay_by_length(std::int64_t total, std::vector<Chunk>& chunks) {
  std::int64_t with_text = 0;
  double bytes = 0;
  for (const Chunk& chunk : chunks) {
    with_text += chunk.has_text() ? 1 : 0;
    bytes += chunk.has_text() ? chunk.text_bytes : 0;
  }
  const std::int64_t each = total >= with_text ? 1 : 0;
  const auto rest = static_cast<double>(total - each * with_text);
  double passed = 0;
  std::int64_t laid = 0;
  for (Chunk& chunk : chunks) {
    chunk.tokens = 0;
    if (!chunk.has_text()) continue;
    passed += chunk.text_bytes;
    const std::int64_t until = std::llround(rest * passed / bytes);
    chunk.tokens = static_cast<std::uint32_t>(each + until - laid);
    laid = until;
  }
}

/// Which of the counts is `output`, and what speaks against it.
void choose(const CountEvidence& evidence, Response& response) {
  TokenCounts& tokens = response.tokens;
  ResponseFlags& flags = response.flags;
  tokens.by_usage = evidence.usage.output;
  if (evidence.tokenizer_answer)
    tokens.by_tokenizer = *evidence.tokenizer_answer + evidence.tokenizer_reasoning.value_or(0);
  const bool has_text = tokens.by_chunks > 0;
  flags.no_usage = !tokens.by_usage;
  flags.usage_only_at_end = tokens.by_usage && !evidence.is_running && response.is_streamed;
  flags.usage_of_nothing = tokens.by_usage == 0 && has_text;
  if (tokens.by_usage && !flags.usage_of_nothing) {
    tokens.source = CountSource::kUsage;
    tokens.output = *tokens.by_usage;
    flags.fewer_than_chunks = tokens.output < tokens.by_chunks;
  } else if (tokens.by_tokenizer && *tokens.by_tokenizer > 0) {
    tokens.source = CountSource::kTokenizer;
    tokens.output = *tokens.by_tokenizer;
  } else if (has_text) {
    tokens.source = CountSource::kChunks;
    tokens.output = tokens.by_chunks;
  }
  if (tokens.source == CountSource::kUsage && tokens.by_tokenizer) {
    // The token that ends a choice is counted by the server and is no text.
    const std::int64_t apart = std::abs(tokens.output - *tokens.by_tokenizer);
    flags.tokenizer_differs =
        apart > std::max(1U, response.choices) &&
        static_cast<double>(apart) > 0.01 * static_cast<double>(tokens.output);
  }
}

void lay(const CountEvidence& evidence, Response& response) {
  TokenCounts& tokens = response.tokens;
  auto& chunks = response.chunks;
  if (evidence.is_running && tokens.source == CountSource::kUsage) {
    const std::int64_t rest = tokens.output - sum_on(chunks);
    response.flags.total_differs = rest != 0;
    if (rest >= 0) {
      chunks.back().tokens += static_cast<std::uint32_t>(rest);
      tokens.on_chunks = ChunkTokens::kRunningUsage;
      return;
    }
  }
  // What chunks without text hold was read as increments of a count that is no running one.
  std::erase_if(chunks, [](const Chunk& chunk) { return !chunk.has_text(); });
  if (chunks.empty() && tokens.output > 0 && response.last_chunk)
    chunks.push_back(
        {.at = *response.last_chunk, .tokens = static_cast<std::uint32_t>(tokens.output)});
  if (tokens.by_chunks > 0) lay_by_length(tokens.output, chunks);
  tokens.on_chunks = tokens.output == static_cast<std::int64_t>(chunks.size())
                         ? ChunkTokens::kOneEach
                         : ChunkTokens::kByLength;
}

}  // namespace

void settle_counts(const CountEvidence& evidence, Response& response) {
  TokenCounts& tokens = response.tokens;
  tokens.prompt = evidence.usage.prompt;
  tokens.cached = evidence.usage.cached;
  tokens.by_chunks = std::count_if(response.chunks.begin(), response.chunks.end(),
                                   [](const Chunk& chunk) { return chunk.has_text(); });
  choose(evidence, response);
  lay(evidence, response);
  if (evidence.usage.reasoning && tokens.source == CountSource::kUsage) {
    tokens.reasoning_is_servers = true;
    tokens.reasoning = *evidence.usage.reasoning;
  } else if (tokens.source == CountSource::kTokenizer) {
    tokens.reasoning = evidence.tokenizer_reasoning.value_or(0);
  } else {
    for (const Chunk& chunk : response.chunks) {
      if (chunk.has_reasoning && !chunk.has_answer) tokens.reasoning += chunk.tokens;
    }
  }
  tokens.reasoning = std::min(tokens.reasoning, tokens.output);
}

}  // namespace perjoule

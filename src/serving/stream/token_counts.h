// Which count of a response's tokens holds, and how it lies on the chunks; token_stream.h says by
// which rules.
#pragma once

#include <optional>

#include "serving/stream/request_record.h"
#include "serving/stream/stream_event.h"

namespace perjoule {

struct CountEvidence {
  UsageReport usage;        ///< the largest that was told
  bool is_running = false;  ///< each chunk with text came with a count so far
  std::optional<std::int64_t> tokenizer_reasoning;  ///< the tokeniser's, where there is one
  std::optional<std::int64_t> tokenizer_answer;
};

/// Fills response.tokens and the flags about counts, and lays the tokens on the chunks, which hold
/// the increments of the running count until now. O(chunks).
void settle_counts(const CountEvidence& evidence, Response& response);

}  // namespace perjoule

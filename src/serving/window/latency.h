// The latencies of one request, and their definitions, which differ from tool to tool:
//
//   TTFT   from `sent` to the first text of any kind: content, reasoning, a tool call, a refusal.
//          An empty first chunk is another instant, and so are the first reasoning and the first
//          answer.
//   ITL    token gaps: a chunk of k tokens that came a gap g behind the one before stands for k
//          gaps of g / k. The tokens of the first chunk have no gap, as nothing of theirs came
//          before. Chunks read at one instant are one. (What ML.ENERGY publishes: a gap and the
//          k - 1 zeros behind it become k equal gaps, leading zeros are dropped.)
//   TPOT   the mean of the request's token gaps: (last token - first token) over the tokens behind
//          those of the first chunk. ITL and TPOT can so not contradict one another.
//   E2EL   from `sent` to the last event with a choice; what follows (a usage event, "[DONE]", the
//          connection's end) is no part of the answer.
//
// Chunk gaps are another series: as they came, zeros among them. Where a server hides tokens before
// its first text, they are in the counts and in no gap. With several choices a gap is between two
// chunks of one choice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "serving/stream/request_record.h"

namespace perjoule {

struct RequestLatency {
  std::optional<Seconds> first_byte;
  std::optional<Seconds> first_chunk;
  std::optional<Seconds> ttft;  ///< none where nothing was streamed, or no text came
  std::optional<Seconds> first_reasoning;
  std::optional<Seconds> first_answer;
  std::optional<Seconds> second_token;  ///< between the first and the second; 0 in one chunk
  std::optional<Seconds> tpot;          ///< none without a token behind the first chunk's
  std::optional<Seconds> e2el;
  /// (E2EL - TTFT) / (tokens - 1), as ML.ENERGY and vLLM have it: lower where the first chunk holds
  /// several tokens. For comparison with their results only; of one choice.
  std::optional<Seconds> tpot_of_totals;
  std::uint32_t first_chunk_tokens = 0;  ///< that came with the first text, at one instant
};

/// O(chunks).
RequestLatency latency_of(const RequestRecord& record);

/// As defined above; in the order of choices. O(chunks x choices + tokens).
std::vector<Seconds> token_gaps(const Response& response);
/// Between chunks with text.
std::vector<Seconds> chunk_gaps(const Response& response);
/// The token gaps of a list that has a gap for each chunk and a zero for each further token of it,
/// as vLLM's and ML.ENERGY's clients write it.
std::vector<Seconds> repaired_gaps(const std::vector<Seconds>& listed);

/// Whether chunks come in bursts: many at once, then a long pause. A proxy that buffers does that,
/// and a server that sends the tokens of a step one by one; the median gap is then 0 and means
/// nothing.
struct Bursts {
  std::size_t judged = 0;       ///< requests with gaps enough to tell
  std::size_t bursty = 0;       ///< of those, in bursts
  double chunks_per_burst = 1;  ///< mean, in those
  bool any() const { return bursty * 2 > judged; }
};
/// A response of at least 8 gaps is in bursts where half of them are below a tenth of their mean.
Bursts find_bursts(const std::vector<RequestRecord>& records);

}  // namespace perjoule

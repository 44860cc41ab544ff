// One request as it was measured: what was asked for, when it was sent, each chunk of its answer,
// how many tokens there were and how it ended. Every figure of a run is a function of these records
// (latency.h, steady_window.h), so that another definition needs no other run.
//
// All instants are of one monotonic clock, the one of the power samples; a chunk's is that of the
// read of the socket that completed its event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace perjoule {

/// An event that brought text or tokens. A chunk is not a token: it may hold none or many.
struct Chunk {
  Instant at;
  std::uint32_t tokens = 0;
  std::uint32_t text_bytes = 0;
  std::uint32_t choice = 0;
  bool has_reasoning = false;
  bool has_answer = false;  ///< content, a tool call or a refusal

  bool has_text() const { return has_reasoning || has_answer; }
};

/// Where a count of tokens comes from, the best first.
enum class CountSource {
  kUsage,      ///< the server's own
  kTokenizer,  ///< the text, tokenised again: another count than the server's, mostly by a little
  kChunks,     ///< one for each chunk with text: too few where chunks hold several
  kNone,       ///< there was no text
};
std::string_view name_of(CountSource source);

/// How a response's tokens were laid on its chunks.
enum class ChunkTokens {
  kRunningUsage,  ///< each chunk said how many there were so far
  kOneEach,       ///< as many tokens as chunks
  kByLength,      ///< only the total is known: by the length of the chunks' texts
};

struct TokenCounts {
  std::optional<std::int64_t> prompt;       ///< the server's
  std::optional<std::int64_t> cached;       ///< of the prompt's
  std::int64_t output = 0;                  ///< in all choices, reasoning among them
  std::int64_t reasoning = 0;               ///< of the output's
  CountSource source = CountSource::kNone;  ///< of `output`
  bool reasoning_is_servers = false;        ///< else summed over the chunks of reasoning
  ChunkTokens on_chunks = ChunkTokens::kOneEach;
  // The three counts beside one another, where there are any.
  std::optional<std::int64_t> by_usage;
  std::optional<std::int64_t> by_tokenizer;
  std::int64_t by_chunks = 0;

  std::int64_t answer() const { return output - reasoning; }
};

/// What is odd about a response's counts, or about how it ended; none of it is a failure.
struct ResponseFlags {
  bool no_usage = false;           ///< the server told no count
  bool usage_only_at_end = false;  ///< ... or only the total
  bool usage_of_nothing = false;   ///< it told 0 tokens where there was text: not believed
  bool usage_fell = false;         ///< a running count was lower than the one before
  bool total_differs = false;      ///< the last count was not what the running one had come to
  bool fewer_than_chunks = false;  ///< it told fewer tokens than there were chunks with text
  bool tokenizer_differs = false;  ///< by more than 1 % and more than a token a choice
  bool no_done = false;            ///< complete, but without "[DONE]"
  bool no_finish_reason = false;   ///< "[DONE]", but a choice without its reason

  bool operator==(const ResponseFlags&) const = default;
};

struct Response {
  bool is_streamed = true;
  std::optional<Instant> first_byte;
  std::optional<Instant> first_chunk;      ///< first event with a choice, though it be empty
  std::optional<Instant> first_token;      ///< first text of any kind: what TTFT means here
  std::optional<Instant> first_reasoning;  ///< first text of reasoning
  std::optional<Instant> first_answer;     ///< first content, tool call or refusal
  std::optional<Instant> last_chunk;       ///< last event with a choice: the end of E2EL
  std::vector<Chunk> chunks;               ///< those with text or tokens, by instant
  TokenCounts tokens;
  ResponseFlags flags;
  std::uint32_t choices = 0;  ///< that were seen
  std::string finish_reason;  ///< of the first choice
  std::string text;           ///< of the first choice's answer, where it was kept
};

/// How a request failed; each is counted on its own.
enum class Failure {
  kNone,
  kConnect,        ///< no connection, or none any more before the response began
  kRefused,        ///< an HTTP status that is no 2xx
  kErrorInStream,  ///< an error inside a response of status 200
  kTruncated,      ///< the response ended before its end
  kMalformed,      ///< an event that is no JSON object
  kConnectTimeout,
  kFirstTokenTimeout,
  kInterTokenTimeout,
  kTotalTimeout,
  kCancelledAtEnd,  ///< still open when the run ended: no failure of the server's
};
std::string_view name_of(Failure failure);

struct RequestRecord {
  Instant scheduled;  ///< when the load wanted it sent; in a closed loop, when its place came free
  Instant sent;       ///< when its last attempt was handed to the socket
  Instant ended;      ///< when the response was complete, or the failure seen
  Response response;  ///< what came of it, also where it failed
  Failure failure = Failure::kNone;
  int status = 0;       ///< HTTP's; 0 where there was none
  std::string message;  ///< the server's or the system's words for the failure
  int retries = 0;      ///< attempts before the last

  bool succeeded() const { return failure == Failure::kNone; }
  /// It failed, and not because the run was over.
  bool failed() const { return !succeeded() && failure != Failure::kCancelledAtEnd; }
};

}  // namespace perjoule

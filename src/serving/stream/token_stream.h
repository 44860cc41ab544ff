// One response's events into chunks: which text they carry, how many tokens they stand for, when
// the first of each kind came, and how it ended.
//
//   TokenStream stream(reader, {.tokenizer = count_tokens});
//   parser.read(bytes, [&](const SseEvent& event) { stream.take(event, at); });
//   ...
//   const ResponseEnd end = stream.finish();   // and the record is end.response
//
// Counts of tokens: the server's usage where it is credible; else the tokeniser's, where one is
// given; else one for each chunk with text. Which it was is said, and so is every contradiction
// among them (ResponseFlags). On the chunks they are laid as the running usage says; where only the
// total is known, one each if there are as many chunks, else by the length of their texts. Tokens
// that a server counts without sending text (hidden reasoning, the end token) make a chunk without
// text.
//
// A response is complete with every choice's finish_reason or with "[DONE]"; servers leave either
// out. An error object, "error" or "abort" as the finish_reason, and an event that is no JSON make
// it a failure whatever else it says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "serving/stream/request_record.h"
#include "serving/stream/sse_parser.h"
#include "serving/stream/stream_event.h"
#include "serving/stream/token_counts.h"

namespace perjoule {

/// How many tokens a text is.
using TokenCounter = std::function<std::int64_t(std::string_view)>;

struct TokenStreamOptions {
  TokenCounter tokenizer = {};  ///< may be null; is asked once a choice, at the end
  std::uint32_t choices = 1;    ///< that were asked for (`n`)
  bool keep_text = false;       ///< keep the first choice's answer
};

struct ResponseEnd {
  Response response;
  Failure failure = Failure::kNone;
  int status = 0;       ///< the error's own, where it has one
  std::string message;  ///< why it is a failure
};

class TokenStream {
 public:
  /// The reader may serve many streams of one thread, and must outlive them.
  /// What a stream looks at with each event is taken from `memory`.
  explicit TokenStream(StreamEventReader& reader, TokenStreamOptions options = {},
                       std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// A byte of the response came; the first call counts.
  void note_byte(Instant at);
  /// An event that was complete at `at`. One of type "error" is one, whatever its data are.
  void take(const SseEvent& event, Instant at);
  /// The whole body of a response that is not streamed.
  void take_body(std::string_view json, Instant at);

  /// "[DONE]" was seen: nothing more is to come.
  bool is_done() const { return done_; }
  std::size_t chunks() const { return chunks_.size(); }

  /// The response has ended, as far as it came; the stream is of no more use.
  ResponseEnd finish();

 private:
  struct Choice {
    std::uint32_t index = 0;
    bool is_finished = false;
    std::string answer;     ///< kept for the tokeniser
    std::string reasoning;  ///< the same
  };

  void take_event(const StreamEvent& event, Instant at);
  void take_part(const ChoicePart& part, Instant at);
  void take_usage(const UsageReport& usage, const StreamEvent& event, std::size_t chunks_before,
                  Instant at);
  Choice& choice(std::uint32_t index);
  void count_tokens(const Choice& choice, CountEvidence& evidence) const;
  bool all_finished() const;
  void settle_ending(ResponseEnd& end);

  // What each event looks at stands together, and first.
  StreamEventReader& reader_;
  bool done_ = false;
  bool is_malformed_ = false;
  bool last_is_malformed_ = false;  ///< cut off, perhaps
  std::pmr::vector<Chunk> chunks_;  ///< the response's, until its end
  std::size_t choices_ = 0;         ///< that were seen
  Choice first_choice_;
  std::size_t text_chunks_ = 0;        ///< chunks with text ...
  std::size_t chunks_with_usage_ = 0;  ///< ... and those of them whose event told a running count
  UsageReport usage_;                  ///< the largest that was told
  Response response_;

  std::vector<Choice> other_choices_;
  TokenStreamOptions options_;
  std::optional<ServerError> error_;
};

}  // namespace perjoule

#include "serving/stream/token_stream.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "serving/stream/token_counts.h"

namespace perjoule {

/// More choices than a server gives: an index beyond it is nonsense.
constexpr std::uint32_t kMostChoices = 1024;
/// Room that is there before the first event comes.
constexpr std::size_t kFirstChunks = 64;

TokenStream::TokenStream(StreamEventReader& reader, TokenStreamOptions options,
                         std::pmr::memory_resource* memory)
    : reader_(reader), chunks_(memory), options_(std::move(options)) {
  chunks_.reserve(kFirstChunks);
}

void TokenStream::note_byte(Instant at) {
  if (!response_.first_byte) response_.first_byte = at;
}

void TokenStream::take(const SseEvent& sse, Instant at) {
  const std::string_view data = sse.data;
  note_byte(at);
  if (done_) return;
  // Cheaper than to trim each event: only this one does not begin with a brace.
  if (data.empty() || data.front() != '{') {
    const std::string_view word = trim(data);
    if (word.empty()) return;  // a keep-alive of some gateways
    if (word == "[DONE]") {
      done_ = true;
      last_is_malformed_ = false;
      return;
    }
  }
  const StreamEvent* event = reader_.read(data);
  if (sse.type == "error" && !error_) {
    constexpr std::size_t kWords = 200;
    error_ = event != nullptr && event->error ? event->error
                                              : ServerError{std::string(data.substr(0, kWords)), 0};
    return;
  }
  last_is_malformed_ = event == nullptr;
  if (event == nullptr) {
    is_malformed_ = true;
    return;
  }
  take_event(*event, at);
}

void TokenStream::take_body(std::string_view json, Instant at) {
  response_.is_streamed = false;
  note_byte(at);
  const StreamEvent* event = reader_.read(json);
  is_malformed_ = event == nullptr || (!event->has_choices && !event->error);
  if (is_malformed_) return;
  done_ = true;
  take_event(*event, at);
}

void TokenStream::take_event(const StreamEvent& event, Instant at) {
  if (event.error && !error_) error_ = event.error;
  const std::size_t chunks_before = chunks_.size();
  if (!event.choices.empty()) {
    if (!response_.first_chunk) response_.first_chunk = at;
    response_.last_chunk = at;
  }
  for (const ChoicePart& part : event.choices) take_part(part, at);
  if (event.usage) take_usage(*event.usage, event, chunks_before, at);
}

void TokenStream::take_part(const ChoicePart& part, Instant at) {
  if (part.index >= kMostChoices) {
    is_malformed_ = true;
    return;
  }
  Choice& to = choice(part.index);
  if (!part.finish_reason.empty()) {
    to.is_finished = true;
    if (response_.finish_reason.empty()) response_.finish_reason = part.finish_reason;
    if ((part.finish_reason == "error" || part.finish_reason == "abort") && !error_)
      error_ = ServerError{"finish_reason is '" + std::string(part.finish_reason) + "'", 0};
  }
  if (!part.has_text()) return;
  const std::size_t bytes =
      part.content.size() + part.reasoning.size() + part.tool_call.size() + part.refusal.size();
  Chunk& chunk = chunks_.emplace_back();
  chunk.at = at;
  chunk.text_bytes = static_cast<std::uint32_t>(bytes);
  chunk.choice = part.index;
  chunk.has_reasoning = !part.reasoning.empty();
  chunk.has_answer = part.has_answer();
  ++text_chunks_;
  if (!response_.first_token) response_.first_token = at;
  if (chunk.has_reasoning && !response_.first_reasoning) response_.first_reasoning = at;
  if (chunk.has_answer && !response_.first_answer) response_.first_answer = at;
  if (!options_.tokenizer && !options_.keep_text) return;
  to.reasoning += part.reasoning;
  for (const std::string_view text : {part.content, part.tool_call, part.refusal})
    to.answer += text;
}

/// Counts that come beside choices are laid on the chunks as if they were running ones; whether
/// they were is known at the end (settle_counts).
void TokenStream::take_usage(const UsageReport& usage, const StreamEvent& event,
                             std::size_t chunks_before, Instant at) {
  if (usage.prompt) usage_.prompt = usage.prompt;
  if (usage.cached) usage_.cached = usage.cached;
  if (usage.reasoning) usage_.reasoning = usage.reasoning;
  if (!usage.output) return;
  const std::int64_t before = usage_.output.value_or(0);
  if (*usage.output < before) response_.flags.usage_fell = true;
  usage_.output = std::max(before, *usage.output);
  if (event.choices.empty()) return;

  const std::size_t added = chunks_.size() - chunks_before;
  if (*usage.output > 0) chunks_with_usage_ += added;
  auto increment = static_cast<std::uint32_t>(*usage_.output - before);
  if (increment == 0) return;
  if (added == 0) {
    chunks_.push_back({.at = at, .tokens = increment, .choice = event.choices.front().index});
    return;
  }
  // One event for several choices: a token each, and the last one takes the rest.
  for (std::size_t i = chunks_before; i + 1 < chunks_.size() && increment > 0; ++i) {
    chunks_[i].tokens = 1;
    --increment;
  }
  chunks_.back().tokens += increment;
}

TokenStream::Choice& TokenStream::choice(std::uint32_t index) {
  if (choices_ > 0 && first_choice_.index == index) return first_choice_;
  for (Choice& known : other_choices_) {
    if (known.index == index) return known;
  }
  if (choices_++ == 0) {
    first_choice_.index = index;
    return first_choice_;
  }
  other_choices_.push_back({.index = index, .answer = {}, .reasoning = {}});
  return other_choices_.back();
}

bool TokenStream::all_finished() const {
  return choices_ >= options_.choices && (choices_ == 0 || first_choice_.is_finished) &&
         std::all_of(other_choices_.begin(), other_choices_.end(),
                     [](const Choice& choice) { return choice.is_finished; });
}

void TokenStream::settle_ending(ResponseEnd& end) {
  const bool finished = all_finished();
  response_.flags.no_done = finished && !done_;
  response_.flags.no_finish_reason = done_ && !finished;
  if (error_) {
    end.failure = Failure::kErrorInStream;
    end.status = error_->status;
    end.message = error_->message;
  } else if (is_malformed_ && !last_is_malformed_) {
    end.failure = Failure::kMalformed;
    end.message = response_.is_streamed ? "an event of the response is no JSON object"
                                        : "the response is no JSON object with choices";
  } else if (is_malformed_ || (!finished && !done_)) {
    end.failure = Failure::kTruncated;
    end.message = "the response ended without a finish_reason and without [DONE]";
  }
}

void TokenStream::count_tokens(const Choice& choice, CountEvidence& evidence) const {
  if (!choice.answer.empty()) *evidence.tokenizer_answer += options_.tokenizer(choice.answer);
  if (!choice.reasoning.empty())
    *evidence.tokenizer_reasoning += options_.tokenizer(choice.reasoning);
}

ResponseEnd TokenStream::finish() {
  ResponseEnd end;
  settle_ending(end);
  response_.choices = static_cast<std::uint32_t>(choices_);
  CountEvidence evidence;
  evidence.usage = usage_;
  evidence.is_running =
      response_.is_streamed && text_chunks_ > 0 && chunks_with_usage_ == text_chunks_;
  if (options_.tokenizer && text_chunks_ > 0) {
    evidence.tokenizer_answer = evidence.tokenizer_reasoning = 0;
    count_tokens(first_choice_, evidence);
    for (const Choice& choice : other_choices_) count_tokens(choice, evidence);
  }
  response_.chunks.assign(chunks_.begin(), chunks_.end());
  settle_counts(evidence, response_);
  if (options_.keep_text) response_.text = std::move(first_choice_.answer);
  end.response = std::move(response_);
  return end;
}

}  // namespace perjoule

#include "serving/load/load_stream.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace perjoule {
namespace {

/// An event with the log-probabilities of a long answer is some megabytes.
constexpr std::size_t kLongestEvent = 32U << 20U;
/// A server that asks for a longer wait is asked after this one, s.
constexpr double kLongestWait = 600;
constexpr std::size_t kLongestBody = 256U << 20U;
/// Of what a server says to a request that it refuses.
constexpr std::size_t kLongestRefusal = 4096;
constexpr std::size_t kWords = 200;

Failure failure_of(const HttpEnd& end) {
  switch (end.outcome) {
    case HttpOutcome::kComplete:
      break;
    case HttpOutcome::kNotConnected:
      return Failure::kConnect;
    case HttpOutcome::kConnectTimeout:
      return Failure::kConnectTimeout;
    case HttpOutcome::kResponseTimeout:
      return Failure::kFirstTokenTimeout;
    case HttpOutcome::kIdleTimeout:
      return Failure::kInterTokenTimeout;
    case HttpOutcome::kLost:
      return end.has_begun ? Failure::kTruncated : Failure::kConnect;
    case HttpOutcome::kMalformed:
      return Failure::kMalformed;
  }
  return Failure::kNone;
}

std::string words_for(Failure failure) {
  switch (failure) {
    case Failure::kFirstTokenTimeout:
      return "no token came in time";
    case Failure::kInterTokenTimeout:
      return "the next token did not come in time";
    default:
      return "the response did not end in time";
  }
}

}  // namespace

LoadStream::LoadStream(const LoadContext& context, std::size_t index, LoadStreamOwner& owner)
    : context_(context),
      parser_(kLongestEvent),
      tokens_(context.reader, context.options.stream, &context.memory),
      index_(index),
      owner_(owner) {}

Outcome LoadStream::open(HttpRequest request, Instant scheduled, int attempts) {
  record_.scheduled = scheduled;
  attempts_before_ = attempts;
  PJ_TRY(stream_, context_.client.open(std::move(request), *this));
  return {};
}

void LoadStream::sent(Instant at) {
  record_.sent = at;
  record_.retries = attempts_before_ + times_sent_++;
  arm();
}

void LoadStream::head(const HttpHead& head, Instant at) {
  constexpr int kOk = 200;
  constexpr int kRedirect = 300;
  record_.status = head.status;
  is_refused_ = head.status < kOk || head.status >= kRedirect;
  if (const std::string* wait = head.find("retry-after")) retry_after_ = wait->substr(0, kWords);
  const std::string* type = head.find("content-type");
  const bool is_json = type != nullptr && starts_with_ignoring_case(*type, "application/json");
  has_events_ = context_.is_streamed && !is_json && !is_refused_;
  if (!is_refused_) tokens_.note_byte(at);
}

void LoadStream::body(std::string_view piece, Instant at) {
  last_piece_ = at;
  if (has_events_) return take_events(piece, at);
  const std::size_t most = is_refused_ ? kLongestRefusal : kLongestBody;
  text_ += piece.substr(0, most - std::min(most, text_.size()));
}

void LoadStream::take_events(std::string_view piece, Instant at) {
  parser_.read(piece, [&](const SseEvent& event) { tokens_.take(event, at); });
  if (parser_.too_long())
    return give_up(Failure::kMalformed, "an event of the response is too long");
  if (tokens_.chunks() == chunks_) return;
  const bool is_first = chunks_ == 0;
  chunks_ = tokens_.chunks();
  last_chunk_ = at;
  // The deadline for the next token may be before the one that there was for the first.
  if (is_first) arm();
}

void LoadStream::ended(const HttpEnd& end) {
  stream_ = 0;
  finish(failure_of(end), end.message, end.at);
}

void LoadStream::give_up(Failure failure, std::string message) {
  context_.client.cancel(std::exchange(stream_, 0));
  finish(failure, std::move(message), context_.loop.clock().now());
}

/// What the server itself has said goes before what became of the connection: a refusal stays one
/// where its words are cut off, and a whole answer is whole.
void LoadStream::finish(Failure failure, std::string message, Instant at) {
  disarm();
  record_.ended = at;
  if (times_sent_ == 0) record_.sent = at;
  if (has_events_) {
    parser_.finish([&](const SseEvent& event) { tokens_.take(event, last_piece_); });
  } else if (!is_refused_ && !text_.empty()) {
    tokens_.take_body(text_, last_piece_);
  }
  ResponseEnd end = tokens_.finish();
  record_.response = std::move(end.response);
  if (is_refused_) {
    record_.failure = Failure::kRefused;
    record_.message = refusal();
  } else if (failure == Failure::kNone || end.failure == Failure::kNone ||
             end.failure == Failure::kErrorInStream) {
    record_.failure = end.failure;
    record_.message = std::move(end.message);
  } else {
    record_.failure = failure;
    record_.message = std::move(message);
  }
  owner_.stream_ended(*this);
}

std::optional<Seconds> LoadStream::may_come_again_in() const {
  constexpr int kTooMany = 429;
  constexpr int kUnavailable = 503;
  if (record_.failure != Failure::kRefused ||
      (record_.status != kTooMany && record_.status != kUnavailable))
    return std::nullopt;
  // The field may be a date, too (RFC 9110, section 10.2.3), which servers of models do not send.
  const auto seconds = parse_number(trim(retry_after_));
  return Seconds(seconds && *seconds >= 0 ? std::min(*seconds, kLongestWait) : 1);
}

/// The server's own words, where it has some.
std::string LoadStream::refusal() const {
  std::string words;
  if (const auto parsed = parse_json(text_)) {
    const Json* error = parsed->find("error");
    if (error != nullptr && error->as_string() != nullptr) words = *error->as_string();
    if (error != nullptr && words.empty()) words = error->string("message").value_or("");
    if (words.empty()) words = parsed->string("message").value_or("");
  }
  if (words.empty()) words = trim(text_);
  words = "status " + std::to_string(record_.status) + (words.empty() ? "" : ": ") +
          words.substr(0, kWords);
  return retry_after_.empty() ? words : words + " (retry after " + retry_after_ + ")";
}

std::optional<LoadStream::Deadline> LoadStream::deadline() const {
  const TokenTimeouts& timeouts = context_.options.timeouts;
  std::optional<Deadline> first;
  const auto add = [&](Instant from, std::optional<Seconds> limit, Failure failure) {
    if (!limit) return;
    const Instant at = from + *limit;
    if (!first || at < first->at) first = Deadline{at, failure};
  };
  if (times_sent_ == 0) return first;
  if (chunks_ == 0) add(record_.sent, timeouts.first_token, Failure::kFirstTokenTimeout);
  if (chunks_ > 0 && !tokens_.is_done())
    add(last_chunk_, timeouts.inter_token, Failure::kInterTokenTimeout);
  add(record_.sent, timeouts.total, Failure::kTotalTimeout);
  return first;
}

/// As an HttpConnection's, the timer stays where it is while its deadline moves away.
void LoadStream::arm() {
  const auto wanted = deadline();
  if (!wanted || (timer_ != 0 && timer_at_ <= wanted->at)) return;
  disarm();
  timer_at_ = wanted->at;
  timer_ = context_.loop.call_at(timer_at_, [this] { look_at_deadline(); });
}

void LoadStream::disarm() {
  if (timer_ != 0) context_.loop.cancel(std::exchange(timer_, 0));
}

void LoadStream::look_at_deadline() {
  timer_ = 0;
  const auto passed = deadline();
  if (!passed) return;
  if (context_.loop.clock().now() < passed->at) return arm();
  give_up(passed->failure, words_for(passed->failure));
}

}  // namespace perjoule

#include "twin/serve_response.h"

#include <algorithm>
#include <utility>

namespace perjoule::twin {
namespace {

constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";
// Long enough for what is before it to be read alone, short against a token.
constexpr Seconds kSplitPause{0.002};

std::string event_of(std::string_view data) {
  std::string event = "data: ";
  event += data;
  event += "\n\n";
  return event;
}

/// Behind the first byte of the first character that has several; the length where none has.
std::size_t inside_character(std::string_view text) {
  const auto several = [](char c) { return static_cast<unsigned char>(c) >= 0x80U; };
  const auto found = std::find_if(text.begin(), text.end(), several);
  return found == text.end() ? text.size() : static_cast<std::size_t>(found - text.begin()) + 1;
}

Json reason_of(const std::optional<FinishReason>& finish) {
  return finish ? Json(word_of(*finish)) : Json();
}

}  // namespace

ResponseWriter::ResponseWriter(const ApiRequest& request, std::string id, std::int64_t created,
                               std::vector<ServeFault> faults)
    : endpoint_(request.endpoint),
      model_(request.model),
      id_(std::move(id)),
      created_(created),
      faults_(std::move(faults)),
      stream_(request.stream),
      include_usage_(request.include_usage),
      continuous_usage_(request.continuous_usage),
      prompt_tokens_(request.prompt_tokens),
      choices_(request.choices.size()) {
  if (fault(ServeFaultKind::kNoUsage) != nullptr) include_usage_ = continuous_usage_ = false;
}

std::vector<WirePiece> ResponseWriter::begin() {
  std::vector<WirePiece> pieces;
  if (!stream_ || fault(ServeFaultKind::kEmptyFirst) == nullptr) return pieces;
  for (std::size_t i = 0; i < choices_.size(); ++i) send_event(chunk_text(i), pieces);
  return pieces;
}

std::vector<WirePiece> ResponseWriter::add(std::size_t index, const TokenDelta& delta) {
  std::vector<WirePiece> pieces;
  if (ended_ || index >= choices_.size() || choices_[index].finish) return pieces;
  Choice& choice = choices_[index];
  const ServeFault* const several = fault(ServeFaultKind::kMultiToken);
  const ServeFault* const reasoning = fault(ServeFaultKind::kReasoning);
  // A chunk holds either reasoning or the answer.
  const bool turns = reasoning != nullptr && is_chat() && choice.tokens <= reasoning->value &&
                     delta.total_tokens > reasoning->value;
  if (stream_ && turns && choice.unsent > 0) send_chunk(index, pieces);
  if (ended_) return pieces;
  take(choice, delta);
  if (stream_) {
    if (choice.finish || several == nullptr || choice.unsent >= several->value) {
      send_chunk(index, pieces);
    }
    if (!ended_ && all_finished()) end_stream(pieces);
  } else if (all_finished()) {
    send_whole(pieces);
  }
  return pieces;
}

void ResponseWriter::take(Choice& choice, const TokenDelta& delta) const {
  const ServeFault* const reasoning = fault(ServeFaultKind::kReasoning);
  const bool reasons = reasoning != nullptr && is_chat() && delta.total_tokens <= reasoning->value;
  (reasons ? choice.reasoning : choice.text) += delta.text;
  choice.tokens = delta.total_tokens;
  choice.unsent += delta.tokens;
  choice.finish = delta.finish;
}

void ResponseWriter::send_chunk(std::size_t index, std::vector<WirePiece>& pieces) {
  send_event(chunk_text(index), pieces);
}

void ResponseWriter::send_event(std::string event, std::vector<WirePiece>& pieces) {
  if (ended_) return;
  Seconds pause;
  if (const ServeFault* const stall = fault(ServeFaultKind::kStall);
      stall != nullptr && stall->after == chunks_) {
    pause = stall->length;
  }
  if (const ServeFault* const error = fault(ServeFaultKind::kError);
      error != nullptr && error->after == chunks_) {
    const ApiError what{.status = 500, .type = "server_error", .message = "the engine has failed"};
    put(event_of(error_body(what)), pause, pieces);
    put(std::string(kDoneEvent), Seconds(0), pieces);
    ended_ = true;
    return;
  }
  if (const ServeFault* const cut = fault(ServeFaultKind::kTruncate);
      cut != nullptr && cut->after == chunks_) {
    put(event.substr(0, event.size() / 2), pause, pieces);
    ended_ = broken_ = true;
    return;
  }
  if (const ServeFault* const alive = fault(ServeFaultKind::kKeepAlive);
      alive != nullptr && chunks_ % alive->value == 0) {
    event.insert(0, ": keep-alive\n\n");
  }
  put(std::move(event), pause, pieces);
  ++chunks_;
}

void ResponseWriter::end_stream(std::vector<WirePiece>& pieces) {
  if (include_usage_) {
    Json last = frame(is_chat() ? "chat.completion.chunk" : "text_completion");
    last["choices"] = Json::array();
    last["usage"] = usage();
    put(event_of(last.dump()), Seconds(0), pieces);
  }
  put(std::string(kDoneEvent), Seconds(0), pieces);
  ended_ = true;
}

void ResponseWriter::send_whole(std::vector<WirePiece>& pieces) {
  Json body = frame(is_chat() ? "chat.completion" : "text_completion");
  body["choices"] = Json::array();
  for (std::size_t i = 0; i < choices_.size(); ++i) body["choices"].push_back(whole_choice(i));
  if (fault(ServeFaultKind::kNoUsage) == nullptr) body["usage"] = usage();
  std::string text = body.dump();
  broken_ = fault(ServeFaultKind::kTruncate) != nullptr;
  if (broken_) text.resize(text.size() / 2);
  const ServeFault* const stall = fault(ServeFaultKind::kStall);
  put(std::move(text), stall == nullptr ? Seconds(0) : stall->length, pieces);
  ended_ = true;
}

/// One piece, or, cut within a character, two.
void ResponseWriter::put(std::string bytes, Seconds pause, std::vector<WirePiece>& pieces) const {
  const std::size_t cut = fault(ServeFaultKind::kSplitUtf8) == nullptr || !stream_
                              ? bytes.size()
                              : inside_character(bytes);
  std::string rest = bytes.substr(cut);
  bytes.resize(cut);
  pieces.push_back({std::move(bytes), pause});
  if (!rest.empty()) pieces.push_back({std::move(rest), kSplitPause});
}

Json ResponseWriter::frame(std::string_view object) const {
  return Json::of({{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}});
}

Json ResponseWriter::usage() const {
  int completion = 0;
  for (const Choice& choice : choices_) completion += choice.tokens;
  return Json::of({{"prompt_tokens", prompt_tokens_},
                   {"completion_tokens", completion},
                   {"total_tokens", prompt_tokens_ + completion}});
}

Json ResponseWriter::delta_of(Choice& choice) const {
  Json delta = Json::object();
  if (!choice.began) delta["role"] = "assistant";
  if (!choice.reasoning.empty()) {
    delta[fault(ServeFaultKind::kReasoning)->field] = std::exchange(choice.reasoning, {});
    if (choice.text.empty()) return delta;
  }
  delta["content"] = std::exchange(choice.text, {});
  return delta;
}

std::string ResponseWriter::chunk_text(std::size_t index) {
  Choice& choice = choices_[index];
  Json part = Json::object();
  part["index"] = static_cast<std::int64_t>(index);
  if (is_chat()) {
    part["delta"] = delta_of(choice);
  } else {
    part["text"] = std::exchange(choice.text, {});
  }
  part["logprobs"] = nullptr;
  part["finish_reason"] = reason_of(choice.finish);
  choice.began = true;
  choice.unsent = 0;
  Json chunk = frame(is_chat() ? "chat.completion.chunk" : "text_completion");
  chunk["choices"] = Json::array();
  chunk["choices"].push_back(std::move(part));
  if (include_usage_) chunk["usage"] = continuous_usage_ ? usage() : Json();
  return event_of(chunk.dump());
}

Json ResponseWriter::whole_choice(std::size_t index) const {
  const Choice& choice = choices_[index];
  Json part = Json::object();
  part["index"] = static_cast<std::int64_t>(index);
  if (is_chat()) {
    Json message = Json::object();
    message["role"] = "assistant";
    if (const ServeFault* const reasoning = fault(ServeFaultKind::kReasoning)) {
      message[reasoning->field] = choice.reasoning;
    }
    message["content"] = choice.text;
    part["message"] = std::move(message);
  } else {
    part["text"] = choice.text;
  }
  part["logprobs"] = nullptr;
  part["finish_reason"] = reason_of(choice.finish);
  return part;
}

bool ResponseWriter::all_finished() const {
  return std::all_of(choices_.begin(), choices_.end(),
                     [](const Choice& choice) { return choice.finish.has_value(); });
}

}  // namespace perjoule::twin

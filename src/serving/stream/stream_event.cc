#include "serving/stream/stream_event.h"

#include <simdjson.h>

#include <deque>
#include <limits>

namespace perjoule {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

std::string_view text_of(const object& in, std::string_view name) {
  std::string_view text;
  return in[name].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

/// A count that a request can have; others are as good as none.
std::optional<std::int64_t> count_of(const object& in, std::string_view name) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t count = 0;
  if (in[name].get(count) != simdjson::SUCCESS || count < 0 || count > kMost) return std::nullopt;
  return count;
}

std::optional<object> object_of(const object& in, std::string_view name) {
  object found;
  if (in[name].get(found) != simdjson::SUCCESS) return std::nullopt;
  return found;
}

UsageReport usage_of(const object& in) {
  UsageReport usage;
  usage.prompt = count_of(in, "prompt_tokens");
  usage.output = count_of(in, "completion_tokens");
  usage.reasoning = count_of(in, "reasoning_tokens");  // SGLang's place for it
  if (const auto details = object_of(in, "completion_tokens_details")) {
    if (const auto count = count_of(*details, "reasoning_tokens")) usage.reasoning = count;
  }
  if (const auto details = object_of(in, "prompt_tokens_details"))
    usage.cached = count_of(*details, "cached_tokens");
  return usage;
}

int status_of(const object& in) {
  for (const char* name : {"code", "status_code", "http_status_code"}) {
    std::int64_t status = count_of(in, name).value_or(0);
    if (const std::string_view text = text_of(in, name); text.size() == 3) {
      for (const char c : text) status = c >= '0' && c <= '9' ? status * 10 + (c - '0') : 0;
    }
    if (status >= 100 && status <= 599) return static_cast<int>(status);
  }
  return 0;
}

/// {"error": {...}}, {"error": "words"}, and vLLM's older {"object": "error", "message": ...}.
std::optional<ServerError> error_of(const object& root) {
  element error;
  if (root["error"].get(error) == simdjson::SUCCESS && !error.is_null()) {
    object fields;
    if (error.get(fields) != simdjson::SUCCESS) {
      std::string_view words;
      if (error.get(words) != simdjson::SUCCESS) words = "an error without a message";
      return ServerError{std::string(words), status_of(root)};
    }
    std::string_view words = text_of(fields, "message");
    if (words.empty()) words = text_of(fields, "type");
    if (words.empty()) words = "an error without a message";
    return ServerError{std::string(words), status_of(fields)};
  }
  if (text_of(root, "object") == "error")
    return ServerError{std::string(text_of(root, "message")), status_of(root)};
  return std::nullopt;
}

}  // namespace

struct StreamEventReader::Parts {
  simdjson::dom::parser parser;
  StreamEvent event;
  std::deque<std::string> joined;  ///< texts that the event has in pieces
  std::size_t used = 0;            ///< of `joined`

  std::string& another_joined() {
    if (used == joined.size()) joined.emplace_back();
    joined[used].clear();
    return joined[used++];
  }

  /// A string, or the texts of a list of parts, [{"type": "text", "text": ...}].
  std::string_view content_of(const object& in) {
    array parts;
    if (in["content"].get(parts) != simdjson::SUCCESS) return text_of(in, "content");
    std::string& all = another_joined();
    for (const element part : parts) {
      object fields;
      if (part.get(fields) == simdjson::SUCCESS) all += text_of(fields, "text");
    }
    return all;
  }

  std::string_view tool_call_of(const object& in) {
    array calls;
    const auto old_call = object_of(in, "function_call");
    if (in["tool_calls"].get(calls) != simdjson::SUCCESS && !old_call) return {};
    std::string& all = another_joined();
    const auto add = [&all](const object& function) {
      all += text_of(function, "name");
      all += text_of(function, "arguments");
    };
    if (old_call) {
      add(*old_call);
      return all;
    }
    for (const element call : calls) {
      object fields;
      if (call.get(fields) != simdjson::SUCCESS) continue;
      if (const auto function = object_of(fields, "function")) add(*function);
    }
    return all;
  }

  void read_message(const object& in, ChoicePart& part) {
    part.content = content_of(in);
    part.reasoning = text_of(in, "reasoning_content");
    if (part.reasoning.empty()) part.reasoning = text_of(in, "reasoning");
    part.tool_call = tool_call_of(in);
    part.refusal = text_of(in, "refusal");
  }

  void read_choice(const object& in) {
    ChoicePart& part = event.choices.emplace_back();
    part.index = static_cast<std::uint32_t>(count_of(in, "index").value_or(0));
    if (const auto delta = object_of(in, "delta")) {
      read_message(*delta, part);
    } else if (const auto message = object_of(in, "message")) {
      read_message(*message, part);
    } else {
      part.content = text_of(in, "text");
    }
    part.finish_reason = text_of(in, "finish_reason");
  }

  bool read(std::string_view json) {
    event.choices.clear();
    event.has_choices = false;
    event.usage.reset();
    event.error.reset();
    used = 0;
    element root_element;
    object root;
    // The reader copies the text once, as simdjson wants 64 readable bytes behind it.
    if (parser.parse(json.data(), json.size()).get(root_element) != simdjson::SUCCESS ||
        root_element.get(root) != simdjson::SUCCESS)
      return false;
    event.error = error_of(root);
    if (const auto usage = object_of(root, "usage")) event.usage = usage_of(*usage);
    array choices;
    if (root["choices"].get(choices) != simdjson::SUCCESS) return true;
    event.has_choices = true;
    for (const element choice : choices) {
      object fields;
      if (choice.get(fields) == simdjson::SUCCESS) read_choice(fields);
    }
    return true;
  }
};

StreamEventReader::StreamEventReader() : parts_(std::make_unique<Parts>()) {}
StreamEventReader::~StreamEventReader() = default;
StreamEventReader::StreamEventReader(StreamEventReader&&) noexcept = default;
StreamEventReader& StreamEventReader::operator=(StreamEventReader&&) noexcept = default;

const StreamEvent* StreamEventReader::read(std::string_view json) {
  return parts_->read(json) ? &parts_->event : nullptr;
}

}  // namespace perjoule

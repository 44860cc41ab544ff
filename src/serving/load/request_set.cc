#include "serving/load/request_set.h"

#include <algorithm>
#include <utility>

namespace perjoule {
namespace {

/// Members that RequestShape has words of its own for.
constexpr std::string_view kOwn[] = {"messages",   "prompt",     "model",
                                     "stream",     "max_tokens", "max_completion_tokens",
                                     "ignore_eos", "min_tokens", "stream_options"};

Outcome check(const RequestShape& shape) {
  if (!shape.more.is_object())
    return Error::invalid_argument("a request's further members are no JSON object");
  for (const auto& [name, value] : *shape.more.as_object()) {
    if (std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn))
      return Error::invalid_argument("a request's member is set by its own option: " + name);
  }
  if (shape.max_tokens && *shape.max_tokens < 1)
    return Error::invalid_argument("a limit of tokens must be 1 or above: " +
                                   std::to_string(*shape.max_tokens));
  if (shape.has_fixed_length && !shape.max_tokens && !shape.takes_lengths)
    return Error::invalid_argument("answers of a fixed length need a length",
                                   "give a limit of tokens");
  return {};
}

Result<std::optional<std::int64_t>> limit_of(const Prompt& prompt, const RequestShape& shape) {
  if (!shape.takes_lengths) return shape.max_tokens;
  if (!prompt.output_tokens)
    return Error::invalid_argument("it says no length of its answer", "give a limit of tokens");
  const std::int64_t own = std::max<std::int64_t>(1, *prompt.output_tokens);
  return std::optional(shape.max_tokens ? std::min(own, *shape.max_tokens) : own);
}

/// `"messages": [...]` or `"prompt": ...`.
Result<std::string> question_of(const Prompt& prompt, Endpoint endpoint) {
  if (endpoint == Endpoint::kCompletions) {
    if (prompt.text.empty())
      return Error::invalid_argument("a chat cannot be sent to the completions endpoint");
    return "\"prompt\":" + prompt.text;
  }
  if (!prompt.messages.empty()) return "\"messages\":" + prompt.messages;
  if (prompt.text.front() != '"')
    return Error::invalid_argument("token ids cannot be sent to the chat endpoint");
  return R"("messages":[{"role":"user","content":)" + prompt.text + "}]";
}

/// All but the question, without the braces.
std::string options_of(const RequestShape& shape, std::optional<std::int64_t> limit) {
  Json body = Json::object();
  body["model"] = shape.model;
  body["stream"] = shape.is_streamed;
  if (shape.is_streamed && (shape.wants_usage || shape.wants_running_usage)) {
    Json options = Json::object();
    options["include_usage"] = true;
    if (shape.wants_running_usage) options["continuous_usage_stats"] = true;
    body["stream_options"] = std::move(options);
  }
  if (limit) {
    const bool has_new_name = shape.endpoint == Endpoint::kChat && !shape.has_old_names;
    body[has_new_name ? "max_completion_tokens" : "max_tokens"] = *limit;
    if (shape.has_fixed_length) {
      body["ignore_eos"] = true;
      body["min_tokens"] = *limit;
    }
  }
  for (const auto& [name, value] : *shape.more.as_object()) body[name] = value;
  const std::string text = body.dump();
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::string_view path_of(Endpoint endpoint) {
  return endpoint == Endpoint::kChat ? "/v1/chat/completions" : "/v1/completions";
}

Result<RequestSet> make_requests(const std::vector<Prompt>& prompts, const RequestShape& shape) {
  PJ_CHECK(check(shape));
  RequestSet set;
  set.path = path_of(shape.endpoint);
  set.is_streamed = shape.is_streamed;
  set.requests.reserve(prompts.size());
  for (const Prompt& prompt : prompts) {
    const std::string which = "prompt " + std::to_string(set.requests.size() + 1);
    if (prompt.messages.empty() && prompt.text.empty())
      return Error::invalid_argument(which + ": it is empty");
    const auto limit = limit_of(prompt, shape);
    if (!limit) return fail(limit, which);
    auto question = question_of(prompt, shape.endpoint);
    if (!question) return fail(question, which);
    set.requests.push_back({.body = std::make_shared<const std::string>(
                                "{" + *question + "," + options_of(shape, *limit) + "}"),
                            .max_tokens = *limit,
                            .prompt_tokens = prompt.prompt_tokens,
                            .arrival = prompt.arrival});
  }
  if (set.requests.empty())
    return Error::invalid_argument("there is no prompt to make requests of");
  return set;
}

}  // namespace perjoule

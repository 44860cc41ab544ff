#include "twin/serve_api.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "twin/serve_text.h"

namespace perjoule::twin {
namespace {

constexpr std::int64_t kMostChoices = 128;
constexpr std::size_t kMostChoicesInAll = 1024;
constexpr std::size_t kMostStops = 16;
constexpr int kCompletionTokens = 16;  // what OpenAI's API answers a completion with, unless told
// A chat template's own tokens: around each message, and to begin the answer.
constexpr std::uint32_t kMessageMarks[] = {1, 2, 3};
constexpr std::uint32_t kAnswerMarks[] = {4, 5, 6};

tl::unexpected<ApiError> refuse(std::string message, std::string_view param = {}) {
  return tl::unexpected<ApiError>(bad_request(std::move(message), param));
}

/// PJ_TRY for answers to clients.
#define PJ_API_TRY(declaration, expression)                                   \
  auto PJ_CONCAT(pj_answer_, __LINE__) = (expression);                        \
  if (!PJ_CONCAT(pj_answer_, __LINE__))                                       \
    return tl::unexpected<ApiError>(PJ_CONCAT(pj_answer_, __LINE__).error()); \
  declaration = std::move(*PJ_CONCAT(pj_answer_, __LINE__))

/// A member that is there and not null.
const Json* member(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

ApiResult<bool> read_flag(const Json& body, std::string_view name) {
  const Json* const value = member(body, name);
  if (value == nullptr) return false;
  if (const auto flag = value->as_bool()) return *flag;
  return refuse(std::string(name) + " must be true or false", name);
}

ApiResult<std::optional<int>> read_count(const Json& body, std::string_view name,
                                         std::int64_t least, std::int64_t most) {
  const Json* const value = member(body, name);
  if (value == nullptr) return std::optional<int>();
  const auto number = value->as_integer();
  if (number && *number >= least && *number <= most) {
    return std::optional<int>(static_cast<int>(*number));
  }
  return refuse(std::string(name) + " must be a whole number from " + std::to_string(least) +
                    " to " + std::to_string(most),
                name);
}

ApiResult<std::vector<std::string>> read_stops(const Json& body) {
  std::vector<std::string> stops;
  const Json* const value = member(body, "stop");
  if (value == nullptr) return stops;
  const Json::Array alone = {*value};
  const Json::Array& list = value->as_array() != nullptr ? *value->as_array() : alone;
  for (const Json& each : list) {
    if (each.as_string() == nullptr || each.as_string()->empty()) {
      return refuse("stop must be a text or a list of texts, none of them empty", "stop");
    }
    stops.push_back(*each.as_string());
  }
  if (stops.size() > kMostStops) return refuse("stop has more than 16 texts", "stop");
  return stops;
}

void append(std::vector<std::uint32_t>& tokens, const std::vector<std::uint32_t>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

/// A message's text: a string, null, or a list of parts of which each is a text.
ApiResult<std::string> content_of(const Json& message) {
  const Json* const content = member(message, "content");
  if (content == nullptr) return std::string();
  if (content->as_string() != nullptr) return *content->as_string();
  if (content->as_array() == nullptr) {
    return refuse("a message's content must be a text or a list of parts", "messages");
  }
  std::string text;
  for (const Json& part : *content->as_array()) {
    if (part.string("type") != "text" || !part.string("text")) {
      return refuse("a part of a message is not a text: the simulated model reads nothing else",
                    "messages");
    }
    text += *part.string("text");
  }
  return text;
}

ApiResult<std::vector<std::uint32_t>> chat_prompt(const Json& body) {
  const Json* const messages = member(body, "messages");
  if (messages == nullptr || messages->as_array() == nullptr || messages->as_array()->empty()) {
    return refuse("messages must be a list of at least one message", "messages");
  }
  std::vector<std::uint32_t> tokens;
  for (const Json& message : *messages->as_array()) {
    const auto role = message.string("role");
    if (!role) return refuse("a message must be an object with a role", "messages");
    PJ_API_TRY(const std::string content, content_of(message));
    tokens.insert(tokens.end(), std::begin(kMessageMarks), std::end(kMessageMarks));
    append(tokens, tokens_of(*role));
    append(tokens, tokens_of(content));
  }
  tokens.insert(tokens.end(), std::begin(kAnswerMarks), std::end(kAnswerMarks));
  return tokens;
}

/// One prompt that is given as tokens.
ApiResult<std::vector<std::uint32_t>> read_tokens(const Json::Array& list) {
  std::vector<std::uint32_t> tokens;
  for (const Json& each : list) {
    const auto token = each.as_integer();
    if (!token || *token < 0 || *token > 0xFFFFFFFF) {
      return refuse("a token of the prompt is not a whole number from 0 up", "prompt");
    }
    tokens.push_back(static_cast<std::uint32_t>(*token));
  }
  return tokens;
}

ApiResult<std::vector<std::uint32_t>> one_prompt(const Json& prompt) {
  if (prompt.as_string() != nullptr) return tokens_of(*prompt.as_string());
  if (prompt.as_array() != nullptr) return read_tokens(*prompt.as_array());
  return refuse("prompt must be a text, a list of tokens, or a list of either", "prompt");
}

ApiResult<std::vector<std::vector<std::uint32_t>>> completion_prompts(const Json& body) {
  const Json* const prompt = member(body, "prompt");
  if (prompt == nullptr) return refuse("prompt is missing", "prompt");
  std::vector<std::vector<std::uint32_t>> prompts;
  const Json::Array* const list = prompt->as_array();
  const bool several = list != nullptr && !list->empty() && !list->front().is_number();
  if (!several) {
    PJ_API_TRY(prompts.emplace_back(), one_prompt(*prompt));
    return prompts;
  }
  for (const Json& each : *list) {
    PJ_API_TRY(prompts.emplace_back(), one_prompt(each));
  }
  return prompts;
}

ApiResult<void> check_model(const Json& body, ApiRequest& request, const ApiSettings& settings) {
  const auto model = body.string("model");
  if (!model) return refuse("model must be a text", "model");
  const auto same = [&](const std::string& name) { return equals_ignoring_case(name, *model); };
  if (std::none_of(settings.models.begin(), settings.models.end(), same)) {
    return tl::unexpected<ApiError>(
        {.status = 404,
         .message = "the model " + *model + " does not exist here; there is " +
                    (settings.models.empty() ? "none" : settings.models.front()),
         .param = "model",
         .code = "model_not_found"});
  }
  request.model = *model;
  return {};
}

/// What is asked for and cannot be given changes what a client measures: it is refused.
ApiResult<void> refuse_unable(const Json& body) {
  for (const std::string_view name : {"tools", "functions", "response_format", "suffix"}) {
    if (member(body, name) != nullptr) {
      return refuse(std::string(name) + " is not simulated: leave it out", name);
    }
  }
  for (const std::string_view name : {"logprobs", "echo"}) {
    const Json* const value = member(body, name);
    if (value != nullptr && !(value->as_bool() == false)) {
      return refuse(std::string(name) + " is not simulated: leave it out", name);
    }
  }
  return {};
}

ApiResult<void> read_streaming(const Json& body, ApiRequest& request) {
  PJ_API_TRY(request.stream, read_flag(body, "stream"));
  const Json* const options = member(body, "stream_options");
  if (options == nullptr) return {};
  if (!request.stream) {
    return refuse("stream_options make sense with stream only", "stream_options");
  }
  if (!options->is_object()) return refuse("stream_options must be an object", "stream_options");
  PJ_API_TRY(request.include_usage, read_flag(*options, "include_usage"));
  PJ_API_TRY(const bool continuous, read_flag(*options, "continuous_usage_stats"));
  request.continuous_usage = continuous && request.include_usage;
  return {};
}

/// All of a generation but its prompt; none for max_tokens: as much as there is room for.
struct Wanted {
  Generation generation;
  std::optional<int> max_tokens;
};

ApiResult<Wanted> read_wanted(const Json& body, Endpoint endpoint) {
  constexpr std::int64_t kMostTokens = 100'000'000;
  Wanted wanted;
  PJ_API_TRY(const auto older, read_count(body, "max_tokens", 1, kMostTokens));
  PJ_API_TRY(const auto newer, read_count(body, "max_completion_tokens", 1, kMostTokens));
  wanted.max_tokens = newer && endpoint == Endpoint::kChat ? newer : older;
  if (!wanted.max_tokens && endpoint == Endpoint::kCompletions) {
    wanted.max_tokens = kCompletionTokens;
  }
  PJ_API_TRY(const auto least, read_count(body, "min_tokens", 0, kMostTokens));
  wanted.generation.min_tokens = least.value_or(0);
  if (wanted.max_tokens && wanted.generation.min_tokens > *wanted.max_tokens) {
    return refuse("min_tokens must not be above max_tokens", "min_tokens");
  }
  PJ_API_TRY(wanted.generation.ignore_eos, read_flag(body, "ignore_eos"));
  PJ_API_TRY(wanted.generation.stop, read_stops(body));
  return wanted;
}

ApiResult<void> add_choices(ApiRequest& request, std::vector<std::uint32_t> prompt,
                            const Wanted& wanted, int n, const ApiSettings& settings) {
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (length == 0) return refuse("the prompt is empty", "prompt");
  if (length >= settings.context_tokens) {
    return refuse("this model's maximum context length is " +
                      std::to_string(settings.context_tokens) + " tokens, and the prompt has " +
                      std::to_string(length) + ": shorten it",
                  request.endpoint == Endpoint::kChat ? "messages" : "prompt");
  }
  request.prompt_tokens += static_cast<int>(length);
  Generation generation = wanted.generation;
  const auto room = static_cast<int>(settings.context_tokens - length);
  generation.max_tokens = wanted.max_tokens.value_or(room);
  if (generation.max_tokens > room) {
    return refuse("this model's maximum context length is " +
                      std::to_string(settings.context_tokens) + " tokens, and the prompt has " +
                      std::to_string(length) + ": max_tokens may be " + std::to_string(room) +
                      " at most",
                  "max_tokens");
  }
  generation.min_tokens = std::min(generation.min_tokens, generation.max_tokens);
  generation.prompt = std::move(prompt);
  for (int i = 0; i < n; ++i) {
    generation.salt = static_cast<std::uint64_t>(i);
    request.choices.push_back(generation);
  }
  return {};
}

}  // namespace

ApiError bad_request(std::string message, std::string_view param) {
  return {.message = std::move(message), .param = std::string(param)};
}

ApiError too_many_requests(int retry_after_s) {
  return {.status = 429,
          .type = "rate_limit_error",
          .message = "too many requests: try again in " + counted(retry_after_s, "second"),
          .code = "rate_limit_exceeded",
          .retry_after_s = retry_after_s};
}

std::string error_body(const ApiError& error) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  Json inner = Json::object();
  inner["message"] = error.message;
  inner["type"] = error.type;
  inner["param"] = text_or_null(error.param);
  inner["code"] = text_or_null(error.code);
  Json outer = Json::object();
  outer["error"] = std::move(inner);
  return outer.dump();
}

ApiResult<ApiRequest> parse_request(Endpoint endpoint, std::string_view text,
                                    const ApiSettings& settings) {
  const auto parsed = parse_json(text);
  if (!parsed) return refuse("the body is not JSON: " + parsed.error().message);
  if (!parsed->is_object()) return refuse("the body is no JSON object");
  const Json& body = *parsed;
  ApiRequest request;
  request.endpoint = endpoint;
  if (auto known = check_model(body, request, settings); !known) {
    return tl::unexpected<ApiError>(known.error());
  }
  if (auto able = refuse_unable(body); !able) return tl::unexpected<ApiError>(able.error());
  if (auto read = read_streaming(body, request); !read) {
    return tl::unexpected<ApiError>(read.error());
  }
  PJ_API_TRY(const Wanted wanted, read_wanted(body, endpoint));
  PJ_API_TRY(const auto n, read_count(body, "n", 1, kMostChoices));
  std::vector<std::vector<std::uint32_t>> prompts;
  if (endpoint == Endpoint::kChat) {
    PJ_API_TRY(prompts.emplace_back(), chat_prompt(body));
  } else {
    PJ_API_TRY(prompts, completion_prompts(body));
  }
  if (prompts.size() * static_cast<std::size_t>(n.value_or(1)) > kMostChoicesInAll) {
    return refuse("more than 1,024 answers in one request", "prompt");
  }
  for (auto& prompt : prompts) {
    if (auto added = add_choices(request, std::move(prompt), wanted, n.value_or(1), settings);
        !added) {
      return tl::unexpected<ApiError>(added.error());
    }
  }
  return request;
}

ApiResult<void> check_key(std::string_view authorization, const ApiSettings& settings) {
  if (settings.api_key.empty()) return {};
  constexpr std::string_view kScheme = "Bearer ";
  if (starts_with_ignoring_case(authorization, kScheme) &&
      trim(authorization.substr(kScheme.size())) == settings.api_key) {
    return {};
  }
  return tl::unexpected<ApiError>({.status = 401,
                                   .message = authorization.empty()
                                                  ? "no API key: send Authorization: Bearer KEY"
                                                  : "the API key is not this server's",
                                   .code = "invalid_api_key"});
}

std::string models_body(const ApiSettings& settings, std::int64_t created) {
  Json list = Json::array();
  for (const std::string& name : settings.models) {
    Json model = Json::object();
    model["id"] = name;
    model["object"] = "model";
    model["created"] = created;
    model["owned_by"] = "perjoule-twin";
    model["max_model_len"] = settings.context_tokens;
    list.push_back(std::move(model));
  }
  Json body = Json::object();
  body["object"] = "list";
  body["data"] = std::move(list);
  return body.dump();
}

}  // namespace perjoule::twin

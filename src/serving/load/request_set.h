// Prompts into the requests of an OpenAI-compatible server, ready to be sent.
//
//   const RequestShape shape{.endpoint = Endpoint::kChat, .model = "Llama-3.1-8B", .max_tokens =
//   4096}; PJ_TRY(const RequestSet set, make_requests(prompts, shape));
//
// Requests are made before the load begins: a prompt of tens of megabytes is copied here, and not
// while others wait to be sent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "serving/load/prompts.h"

namespace perjoule {

enum class Endpoint { kChat, kCompletions };
/// "/v1/chat/completions" or "/v1/completions".
std::string_view path_of(Endpoint endpoint);

struct RequestShape {
  Endpoint endpoint = Endpoint::kChat;
  std::string model = {};
  std::optional<std::int64_t> max_tokens = {};  ///< none: the server's own limit
  bool takes_lengths = false;  ///< the prompt's output_tokens are the limit, up to max_tokens
  bool has_fixed_length =
      false;  ///< exactly the limit: ignore_eos and min_tokens, as vLLM has them
  bool is_streamed = true;
  bool wants_usage = true;          ///< a last event with the totals
  bool wants_running_usage = true;  ///< and, as vLLM and SGLang can, a count in each
  bool has_old_names = false;       ///< `max_tokens` in a chat, too, for servers of before 2024-09
  Json more = Json::object();       ///< put in as it is: temperature, top_p, ...
};

struct LoadRequest {
  std::shared_ptr<const std::string> body = {};
  std::optional<std::int64_t> max_tokens = {};
  std::optional<std::int64_t> prompt_tokens = {};
  std::optional<Seconds> arrival = {};  ///< of a trace
};

struct RequestSet {
  std::string path;
  bool is_streamed = true;
  std::vector<LoadRequest> requests;
};

/// invalid_argument for a shape that contradicts itself, or that a prompt does not fit (messages
/// for the completions endpoint, whose server would have to lay them out; token ids for a chat; no
/// length where one is to be taken), naming which it is. O(bytes).
Result<RequestSet> make_requests(const std::vector<Prompt>& prompts, const RequestShape& shape);

}  // namespace perjoule

// What clients ask of the simulated inference server, in the words of OpenAI's API and vLLM's
// additions to it: the body of a request into the answers that are to be generated.
//
//   const auto request = parse_request(Endpoint::kChat, body, settings);
//   if (!request) return respond(request.error().status, error_body(request.error()));
//   for (const Generation& generation : request->choices) engine.add(generation, now);
//
// Understood: model, messages or prompt (text, tokens, or a list of either), n, max_tokens,
// max_completion_tokens, min_tokens, ignore_eos, stop, stream, stream_options (include_usage,
// continuous_usage_stats). What shapes the sampling of a real model (temperature, top_p, seed, ...)
// is taken and changes nothing. Of what cannot be done the client is told: images, tools, logprobs.
// Text only, no sockets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "twin/serve_engine.h"

namespace perjoule::twin {

/// An error as the client gets it.
struct ApiError {
  int status = 400;
  std::string type = "invalid_request_error";
  std::string message = {};
  std::string param = {};  ///< the member it is about; null on the wire where empty
  std::string code = {};   ///< likewise
  int retry_after_s = 0;   ///< the header of a 429
};
/// {"error": {...}}
std::string error_body(const ApiError& error);

ApiError bad_request(std::string message, std::string_view param = {});
ApiError too_many_requests(int retry_after_s);

template <typename T>
using ApiResult = tl::expected<T, ApiError>;

struct ApiSettings {
  std::vector<std::string> models = {};  ///< names that requests may give; the first is shown
  std::string api_key = {};              ///< empty: anybody may ask
  int context_tokens = 0;
};

enum class Endpoint { kChat, kCompletions };

struct ApiRequest {
  Endpoint endpoint = Endpoint::kChat;
  std::string model;                ///< as the client wrote it
  std::vector<Generation> choices;  ///< by their index on the wire: n for each prompt
  int prompt_tokens = 0;            ///< each prompt once, however many answers it has
  bool stream = false;
  bool include_usage = false;     ///< a last chunk with the counts
  bool continuous_usage = false;  ///< and counts in every chunk
};

/// 400 for what makes no sense, with the member's name; 404 for another model. O(bytes).
ApiResult<ApiRequest> parse_request(Endpoint endpoint, std::string_view body,
                                    const ApiSettings& settings);

/// Whether an Authorization header's value opens the server; 401 where not.
ApiResult<void> check_key(std::string_view authorization, const ApiSettings& settings);

/// The body of GET /v1/models.
std::string models_body(const ApiSettings& settings, std::int64_t created);

}  // namespace perjoule::twin

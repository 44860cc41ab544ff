// What clients send to the simulated inference server: the first byte says to which endpoint and
// with which fault. Whatever is let in must be answered to its end, in JSON, within the context;
// whatever is not must be told so in JSON with a status of its own.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "twin/serve_response.h"

namespace {

using namespace perjoule;
using namespace perjoule::twin;

constexpr int kContext = 48;
constexpr const char* kFaults[] = {"no-usage",          "multi-token:value=3", "empty-first",
                                   "reasoning:value=2", "keep-alive",          "error:after=2",
                                   "truncate:after=2",  "split-utf8"};

void demand(bool holds) {
  if (!holds) std::abort();
}

/// Every event of a stream that was not broken off.
void check_stream(const std::string& bytes) {
  bool done = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find("\n\n", at);
    demand(end != std::string::npos);
    const std::string event = bytes.substr(at, end - at);
    at = end + 2;
    if (event.rfind(":", 0) == 0) continue;
    demand(!done && event.rfind("data: ", 0) == 0);
    done = event == "data: [DONE]";
    demand(done || parse_json(event.substr(6)).has_value());
  }
  demand(done);
}

void answer(const ApiRequest& request, const char* fault) {
  ServeEngine engine({.max_num_seqs = 64, .kv_blocks = 16, .context_tokens = kContext});
  Instant now{1};
  std::map<SequenceId, std::size_t> choices;
  for (std::size_t i = 0; i < request.choices.size(); ++i) {
    const auto id = engine.add(request.choices[i], now);
    demand(id.has_value());  // what parse_request() lets in has room
    choices[*id] = i;
  }
  ResponseWriter writer(request, "id", 1, {*parse_serve_fault(fault)});
  std::string bytes;
  const auto keep = [&bytes](const std::vector<WirePiece>& pieces) {
    for (const WirePiece& piece : pieces) bytes += piece.bytes;
  };
  keep(writer.begin());
  while (const auto step = engine.next_step(now)) {
    now = now + Seconds(0.01);
    for (const TokenDelta& delta : engine.finish_step(now)) {
      keep(writer.add(choices.at(delta.id), delta));
    }
  }
  demand(writer.ended() && engine.gauges().cache_usage == 0);
  if (writer.broken()) return;
  if (request.stream) return check_stream(bytes);
  demand(parse_json(bytes).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto request = parse_request(data[0] % 2 == 0 ? Endpoint::kChat : Endpoint::kCompletions,
                                     body, {.models = {"m"}, .context_tokens = kContext});
  if (request) {
    answer(*request, kFaults[data[0] / 2 % std::size(kFaults)]);
  } else {
    demand(request.error().status >= 400 && request.error().status < 500);
    demand(parse_json(error_body(request.error())).has_value());
  }
  return 0;
}

// For tests: events as servers write them, and a response made of them, a millisecond apart each.
#pragma once

#include <string>
#include <vector>

#include "serving/stream/sse_parser.h"
#include "serving/stream/token_stream.h"

namespace perjoule::test_stream {

inline Instant ms(double milliseconds) {
  return Instant{static_cast<std::int64_t>(milliseconds * 1e6)};
}

/// What stands behind the choices: nothing, "null", or a count of output tokens.
inline std::string usage(std::int64_t output, std::int64_t prompt = 10) {
  return R"(,"usage":{"prompt_tokens":)" + std::to_string(prompt) + R"(,"completion_tokens":)" +
         std::to_string(output) + R"(,"total_tokens":)" + std::to_string(prompt + output) + "}";
}

/// A chunk whose delta has that field: chunk("content", "Hi", usage(1)).
inline std::string chunk(const std::string& field, const std::string& text,
                         const std::string& behind = "", int choice = 0) {
  return R"({"object":"chat.completion.chunk","choices":[{"index":)" + std::to_string(choice) +
         R"(,"delta":{")" + field + R"(":")" + text + R"("},"finish_reason":null}])" + behind + "}";
}
inline std::string role(const std::string& behind = "") {
  return R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}])" + behind + "}";
}
inline std::string finish(const std::string& reason = "stop", const std::string& behind = "",
                          int choice = 0) {
  return R"({"choices":[{"index":)" + std::to_string(choice) + R"(,"delta":{},"finish_reason":")" +
         reason + R"("}])" + behind + "}";
}
/// The event that `include_usage` asks for.
inline std::string total(const std::string& usage) { return R"({"choices":[])" + usage + "}"; }

struct Timed {
  double at_ms = 0;
  std::string data;
  std::string type = {};
};

inline ResponseEnd response_of(const std::vector<Timed>& events, TokenStreamOptions options = {}) {
  StreamEventReader reader;
  TokenStream stream(reader, std::move(options));
  for (const Timed& event : events) stream.take({event.type, event.data}, ms(event.at_ms));
  return stream.finish();
}
/// The first at 1 ms, each other a millisecond behind the one before.
inline ResponseEnd response_of(const std::vector<std::string>& events,
                               TokenStreamOptions options = {}) {
  std::vector<Timed> timed;
  for (const std::string& event : events)
    timed.push_back({static_cast<double>(timed.size() + 1), event, {}});
  return response_of(timed, std::move(options));
}

/// A request sent at 0.
inline RequestRecord record_of(const std::vector<Timed>& events, TokenStreamOptions options = {}) {
  RequestRecord record;
  ResponseEnd end = response_of(events, std::move(options));
  record.response = std::move(end.response);
  record.failure = end.failure;
  record.message = end.message;
  record.status = 200;
  if (!events.empty()) record.ended = ms(events.back().at_ms);
  return record;
}

/// The tokens on each chunk.
inline std::vector<std::uint32_t> tokens_of(const Response& response) {
  std::vector<std::uint32_t> tokens;
  for (const Chunk& chunk : response.chunks) tokens.push_back(chunk.tokens);
  return tokens;
}

}  // namespace perjoule::test_stream

// For tests: what a server of completions sends, and loads for it whose prompts are "p0", "p1", ...
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/test_http_server.h"
#include "serving/load/load_generator.h"
#include "serving/stream/test_stream.h"

namespace perjoule::test_load_server {

inline std::string http_chunk(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string size;
  for (std::size_t left = text.size(); left > 0; left /= 16)
    size.insert(size.begin(), kDigits[left % 16]);
  return size + "\r\n" + text + "\r\n";
}

inline const std::string kEventsHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";
inline const std::string kLastChunk = "0\r\n\r\n";

/// A whole response of these events, each in an HTTP chunk of its own.
inline std::string events(const std::vector<std::string>& data) {
  std::string text = kEventsHead;
  for (const std::string& one : data) text += http_chunk("data: " + one + "\n\n");
  return text + kLastChunk;
}

/// An answer of three tokens in two chunks, with its usage.
inline std::string answer() {
  using namespace test_stream;
  return events({role(), chunk("content", "Hello", usage(2, 7)),
                 chunk("content", " you", usage(3, 7)), finish("stop", usage(3, 7)),
                 total(usage(3, 7)), "[DONE]"});
}

inline std::string body_response(const std::string& status, const std::string& body,
                                 const std::string& fields = "") {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + fields + "\r\n" + body;
}

/// "p12" of a request whose prompt is that.
inline std::string prompt_of(const std::string& request) {
  const std::size_t begin = request.find("\"prompt\":\"") + 10;
  return request.substr(begin, request.find('"', begin) - begin);
}

inline RequestSet requests(std::size_t count, RequestShape shape = {}) {
  shape.endpoint = Endpoint::kCompletions;
  shape.model = "m";
  std::vector<Prompt> prompts(count);
  for (std::size_t i = 0; i < count; ++i) prompts[i].text = "\"p" + std::to_string(i) + "\"";
  return make_requests(prompts, shape).value();
}

inline LoadOptions options_for(const std::string& url) {
  LoadOptions options;
  options.url = HttpUrl::parse(url).value();
  options.token_variable.clear();
  options.most_delay = Seconds(3600);  // how busy the machine is, is no matter of these tests
  return options;
}

inline LoadRun run(const RequestSet& set, const LoadOptions& options,
                   const std::stop_token& stop = {}) {
  const RealClock clock;
  auto made = generate_load(set, options, clock, stop);
  EXPECT_TRUE(made) << made.error().text();
  return made ? std::move(*made) : LoadRun{};
}

}  // namespace perjoule::test_load_server

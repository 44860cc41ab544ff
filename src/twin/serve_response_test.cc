#include "twin/serve_response.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace perjoule::twin {
namespace {

ApiRequest request_of(Endpoint endpoint, bool stream, std::size_t choices = 1) {
  ApiRequest request;
  request.endpoint = endpoint;
  request.model = "m";
  request.choices.resize(choices);
  request.prompt_tokens = 10;
  request.stream = stream;
  return request;
}

ResponseWriter writer_of(const ApiRequest& request, const std::vector<const char*>& faults = {}) {
  std::vector<ServeFault> parsed;
  for (const char* text : faults) parsed.push_back(*parse_serve_fault(text));
  return ResponseWriter(request, "id-1", 123, parsed);
}

/// All pieces of an answer of `tokens` tokens "w0 w1 ..." to each choice.
struct Wire {
  std::vector<WirePiece> pieces;
  std::string bytes;
  std::vector<Json> events;  ///< those that are JSON
  int comments = 0;
  bool done = false;

  const Json& choice(std::size_t event) const {
    return events[event].find("choices")->as_array()->front();
  }
  std::string content(std::size_t event) const {
    return choice(event).find("delta")->string("content").value_or("-");
  }
};

Wire play(ResponseWriter& writer, int tokens, std::size_t choices = 1, const char* word = " w") {
  Wire wire;
  const auto keep = [&](std::vector<WirePiece> pieces) {
    for (WirePiece& piece : pieces) wire.pieces.push_back(std::move(piece));
  };
  keep(writer.begin());
  for (int i = 1; i <= tokens; ++i) {
    for (std::size_t c = 0; c < choices; ++c) {
      TokenDelta delta{.id = c, .text = word + std::to_string(i), .tokens = 1, .total_tokens = i};
      if (i == tokens) delta.finish = FinishReason::kLength;
      keep(writer.add(c, delta));
    }
  }
  for (const WirePiece& piece : wire.pieces) wire.bytes += piece.bytes;
  std::string_view rest = wire.bytes;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\n\n"), rest.size());
    const std::string_view event = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    if (event.front() == ':') ++wire.comments;
    if (event == "data: [DONE]") wire.done = true;
    const auto json =
        parse_json(event.substr(std::min<std::size_t>(event.find('{'), event.size())));
    if (json) wire.events.push_back(*json);
  }
  return wire;
}

TEST(ServeResponse, AStreamedChat) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, true));
  const Wire wire = play(writer, 3);
  ASSERT_EQ(wire.events.size(), 3u);
  EXPECT_EQ(
      wire.pieces[0].bytes,
      "data: {\"id\":\"id-1\",\"object\":\"chat.completion.chunk\",\"created\":123,\"model\":"
      "\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\" w1\"},"
      "\"logprobs\":null,\"finish_reason\":null}]}\n\n");
  EXPECT_EQ(wire.choice(1).find("delta")->find("role"), nullptr);
  EXPECT_EQ(wire.choice(2).string("finish_reason"), "length");
  EXPECT_EQ(wire.events[2].find("usage"), nullptr);
  EXPECT_TRUE(wire.done);
  EXPECT_TRUE(writer.ended());
  EXPECT_FALSE(writer.broken());
}

TEST(ServeResponse, AStreamedCompletion) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kCompletions, true));
  const Wire wire = play(writer, 2);
  EXPECT_EQ(wire.events[0].string("object"), "text_completion");
  EXPECT_EQ(wire.choice(0).string("text"), " w1");
  EXPECT_EQ(wire.choice(1).string("finish_reason"), "length");
}

TEST(ServeResponse, CountsComeLastAndAsToldInEveryChunk) {
  ApiRequest request = request_of(Endpoint::kChat, true, 2);
  request.include_usage = true;
  ResponseWriter once = writer_of(request);
  Wire wire = play(once, 3, 2);
  ASSERT_EQ(wire.events.size(), 7u);
  EXPECT_TRUE(wire.events[0].find("usage")->is_null());
  EXPECT_TRUE(wire.events[6].find("choices")->as_array()->empty());
  EXPECT_EQ(wire.events[6].find("usage")->integer("prompt_tokens"), 10);
  EXPECT_EQ(wire.events[6].find("usage")->integer("completion_tokens"), 6);
  EXPECT_EQ(wire.events[6].find("usage")->integer("total_tokens"), 16);
  request.continuous_usage = true;
  ResponseWriter always = writer_of(request);
  wire = play(always, 3, 2);
  EXPECT_EQ(wire.events[2].find("usage")->integer("completion_tokens"), 3);
}

TEST(ServeResponse, AWholeAnswerHasAllChoicesAndItsCounts) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, false, 2));
  const Wire wire = play(writer, 3, 2);
  ASSERT_EQ(wire.pieces.size(), 1u);
  const auto body = parse_json(wire.bytes);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->string("object"), "chat.completion");
  const Json::Array& choices = *body->find("choices")->as_array();
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[1].find("message")->string("content"), " w1 w2 w3");
  EXPECT_EQ(choices[1].string("finish_reason"), "length");
  EXPECT_EQ(body->find("usage")->integer("completion_tokens"), 6);
  ResponseWriter plain = writer_of(request_of(Endpoint::kCompletions, false));
  EXPECT_NE(play(plain, 2).bytes.find("\"text\":\" w1 w2\""), std::string::npos);
}

TEST(ServeResponse, SeveralTokensAChunk) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, true), {"multi-token:value=4"});
  const Wire wire = play(writer, 10);
  ASSERT_EQ(wire.events.size(), 3u);
  EXPECT_EQ(wire.content(0), " w1 w2 w3 w4");
  EXPECT_EQ(wire.content(2), " w9 w10");
}

TEST(ServeResponse, AnEmptyFirstChunkComesBeforeAnyToken) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, true), {"empty-first"});
  EXPECT_EQ(writer.begin().size(), 1u);
  ResponseWriter again = writer_of(request_of(Endpoint::kChat, true), {"empty-first"});
  const Wire wire = play(again, 2);
  ASSERT_EQ(wire.events.size(), 3u);
  EXPECT_EQ(wire.content(0), "");
  EXPECT_EQ(wire.choice(1).find("delta")->find("role"), nullptr);
}

TEST(ServeResponse, ReasoningStandsInAFieldOfItsOwn) {
  for (const char* field : {"reasoning_content", "reasoning"}) {
    const std::string fault = std::string("reasoning:value=3,field=") + field;
    ResponseWriter writer =
        writer_of(request_of(Endpoint::kChat, true), {fault.c_str(), "multi-token:value=2"});
    const Wire wire = play(writer, 6);
    ASSERT_EQ(wire.events.size(), 4u);  // 2 + 1 of reasoning, 2 + 1 of the answer
    EXPECT_EQ(wire.choice(1).find("delta")->string(field), " w3");
    EXPECT_EQ(wire.choice(1).find("delta")->find("content"), nullptr);
    EXPECT_EQ(wire.content(2), " w4 w5");
    ResponseWriter whole = writer_of(request_of(Endpoint::kChat, false), {fault.c_str()});
    const auto body = parse_json(play(whole, 6).bytes);
    const Json* const message = body->find("choices")->as_array()->front().find("message");
    EXPECT_EQ(message->string(field), " w1 w2 w3");
    EXPECT_EQ(message->string("content"), " w4 w5 w6");
  }
  ResponseWriter text = writer_of(request_of(Endpoint::kCompletions, false), {"reasoning:value=3"});
  EXPECT_NE(play(text, 4).bytes.find(" w1 w2 w3 w4"), std::string::npos);
}

TEST(ServeResponse, CommentsStandBetweenEvents) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, true), {"keep-alive:value=2"});
  const Wire wire = play(writer, 5);
  EXPECT_EQ(wire.comments, 3);
  EXPECT_EQ(wire.events.size(), 5u);
}

TEST(ServeResponse, AnErrorInTheStreamEndsIt) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, true), {"error:after=2"});
  const Wire wire = play(writer, 5);
  ASSERT_EQ(wire.events.size(), 3u);
  EXPECT_EQ(wire.events[2].find("error")->string("type"), "server_error");
  EXPECT_TRUE(wire.done);
  EXPECT_FALSE(writer.broken());
}

TEST(ServeResponse, TruncatedWithinAnEvent) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, true), {"truncate:after=2"});
  const Wire wire = play(writer, 5);
  EXPECT_EQ(wire.events.size(), 2u);
  EXPECT_FALSE(wire.done);
  EXPECT_TRUE(writer.broken());
  EXPECT_NE(wire.bytes.substr(wire.bytes.size() - 2), "\n\n");
  ResponseWriter whole = writer_of(request_of(Endpoint::kChat, false), {"truncate:after=2"});
  EXPECT_FALSE(parse_json(play(whole, 5).bytes));
  EXPECT_TRUE(whole.broken());
}

TEST(ServeResponse, AStallIsAPauseBeforeOnePiece) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, true), {"stall:after=2,length=3s"});
  const Wire wire = play(writer, 4);
  ASSERT_EQ(wire.pieces.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(wire.pieces[i].pause.value(), i == 2 ? 3 : 0);
}

TEST(ServeResponse, NoUsageWhoeverAsks) {
  ApiRequest request = request_of(Endpoint::kChat, true);
  request.include_usage = request.continuous_usage = true;
  ResponseWriter writer = writer_of(request, {"no-usage"});
  EXPECT_EQ(play(writer, 2).bytes.find("usage"), std::string::npos);
  ResponseWriter whole = writer_of(request_of(Endpoint::kChat, false), {"no-usage"});
  EXPECT_EQ(play(whole, 2).bytes.find("usage"), std::string::npos);
}

TEST(ServeResponse, PiecesEndWithinCharacters) {
  ResponseWriter writer = writer_of(request_of(Endpoint::kChat, true), {"split-utf8"});
  const Wire wire = play(writer, 2, 1, " ☀");
  ASSERT_EQ(wire.pieces.size(), 5u);
  EXPECT_EQ(wire.pieces[0].bytes.back(), '\xE2');
  EXPECT_EQ(wire.pieces[1].bytes.front(), '\x98');
  EXPECT_GT(wire.pieces[1].pause.value(), 0);
  EXPECT_EQ(wire.content(0), " ☀1");  // together they are whole
}

}  // namespace
}  // namespace perjoule::twin

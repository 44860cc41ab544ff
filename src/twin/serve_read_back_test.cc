// What the simulated server writes, read by the bench's own readers of such streams: each fault is
// seen as what it is, and nothing else is.
#include <gtest/gtest.h>

#include "serving/stream/sse_parser.h"
#include "serving/stream/token_stream.h"
#include "twin/serve_response.h"
#include "twin/serve_text.h"

namespace perjoule::twin {
namespace {

constexpr int kTokens = 12;

/// A streamed chat of kTokens tokens with a fault, as a client has it at its end.
ResponseEnd read_back(const char* fault = nullptr, bool continuous = false) {
  ApiRequest request;
  request.model = "m";
  request.choices.resize(1);
  request.prompt_tokens = 10;
  request.stream = request.include_usage = true;
  request.continuous_usage = continuous;
  std::vector<ServeFault> faults;
  if (fault != nullptr) faults.push_back(*parse_serve_fault(fault));
  ResponseWriter writer(request, "chatcmpl-1", 1, faults);
  StreamEventReader reader;
  TokenStream stream(reader, {.keep_text = true});
  SseParser parser(1 << 20);
  Instant now{1};
  const auto take = [&](const SseEvent& event) { stream.take(event, now); };
  const auto read = [&](const std::vector<WirePiece>& pieces) {
    now = now + Seconds(0.01);
    for (const WirePiece& piece : pieces) {
      now = now + piece.pause;
      parser.read(piece.bytes, take);
    }
  };
  read(writer.begin());
  for (int i = 1; i <= kTokens; ++i) {
    TokenDelta delta{.text = std::string(piece_of(static_cast<std::uint32_t>(i + 12))),
                     .tokens = 1,
                     .total_tokens = i};
    if (i == kTokens) delta.finish = FinishReason::kLength;
    read(writer.add(0, delta));
  }
  parser.finish(take);
  return stream.finish();
}

TEST(ServeReadBack, AWholeAnswerIsWholeAndNothingIsOdd) {
  const ResponseEnd end = read_back(nullptr, true);
  EXPECT_EQ(end.failure, Failure::kNone) << end.message;
  EXPECT_EQ(end.response.flags, ResponseFlags{});
  EXPECT_EQ(end.response.tokens.output, kTokens);
  EXPECT_EQ(end.response.tokens.prompt, 10);
  EXPECT_EQ(end.response.tokens.on_chunks, ChunkTokens::kRunningUsage);
  EXPECT_EQ(end.response.finish_reason, "length");
  EXPECT_EQ(end.response.chunks.size(), 12u);
}

TEST(ServeReadBack, ChunksOfSeveralTokensAreCountedByUsage) {
  const ResponseEnd end = read_back("multi-token:value=5", true);
  EXPECT_EQ(end.failure, Failure::kNone);
  EXPECT_EQ(end.response.tokens.source, CountSource::kUsage);
  ASSERT_EQ(end.response.chunks.size(), 3u);
  EXPECT_EQ(end.response.chunks[0].tokens, 5u);
  EXPECT_EQ(end.response.chunks[2].tokens, 2u);
}

TEST(ServeReadBack, AnEmptyFirstChunkIsNoFirstToken) {
  const Response plain = read_back().response;
  const Response response = read_back("empty-first").response;
  EXPECT_LT(*response.first_chunk, *response.first_token);
  EXPECT_EQ(*plain.first_chunk, *plain.first_token);
}

TEST(ServeReadBack, ReasoningIsToldFromTheAnswer) {
  for (const char* fault : {"reasoning:value=4", "reasoning:value=4,field=reasoning"}) {
    const Response response = read_back(fault).response;
    EXPECT_EQ(response.tokens.reasoning, 4);
    EXPECT_EQ(response.tokens.answer(), kTokens - 4);
    EXPECT_LT(*response.first_reasoning, *response.first_answer);
  }
}

TEST(ServeReadBack, FailuresAreWhatTheyAre) {
  EXPECT_EQ(read_back("error:after=5").failure, Failure::kErrorInStream);
  EXPECT_EQ(read_back("truncate:after=5").failure, Failure::kTruncated);
  EXPECT_EQ(read_back("truncate:after=0").failure, Failure::kTruncated);
}

TEST(ServeReadBack, WhatIsHarmlessChangesNoCountAndNoText) {
  const Response plain = read_back().response;
  for (const char* fault : {"keep-alive:value=2", "stall:after=3,length=2s", "split-utf8"}) {
    const ResponseEnd end = read_back(fault);
    EXPECT_EQ(end.failure, Failure::kNone) << fault;
    EXPECT_EQ(end.response.text, plain.text) << fault;
    EXPECT_EQ(end.response.tokens.output, kTokens) << fault;
  }
  const Response stalled = read_back("stall:after=3,length=2s").response;
  EXPECT_GT((stalled.chunks[3].at - stalled.chunks[2].at).value(), 2);
}

TEST(ServeReadBack, NoUsageIsFlagged) {
  const Response response = read_back("no-usage").response;
  EXPECT_TRUE(response.flags.no_usage);
  EXPECT_EQ(response.tokens.source, CountSource::kChunks);
}

}  // namespace
}  // namespace perjoule::twin

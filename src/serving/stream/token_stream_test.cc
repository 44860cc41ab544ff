#include "serving/stream/token_stream.h"

#include <gtest/gtest.h>

#include "serving/stream/test_stream.h"

namespace perjoule {
namespace {

using namespace test_stream;
using Tokens = std::vector<std::uint32_t>;

/// A tokeniser of words: one token for each blank and one more.
std::int64_t words(std::string_view text) { return 1 + std::count(text.begin(), text.end(), ' '); }

TEST(TokenStream, AStreamWithUsageAtItsEnd) {
  const ResponseEnd end =
      response_of({role(R"(,"usage":null)"), chunk("content", "Hello"), chunk("content", " world"),
                   finish("length"), total(usage(2, 7)), "[DONE]"});
  EXPECT_EQ(end.failure, Failure::kNone);
  const Response& response = end.response;
  EXPECT_EQ(response.first_byte, ms(1));
  EXPECT_EQ(response.first_chunk, ms(1));
  EXPECT_EQ(response.first_token, ms(2));
  EXPECT_EQ(response.first_answer, ms(2));
  EXPECT_FALSE(response.first_reasoning);
  EXPECT_EQ(response.last_chunk, ms(4));
  EXPECT_EQ(response.finish_reason, "length");
  EXPECT_EQ(response.tokens.prompt, 7);
  EXPECT_EQ(response.tokens.output, 2);
  EXPECT_EQ(response.tokens.source, CountSource::kUsage);
  EXPECT_EQ(response.tokens.on_chunks, ChunkTokens::kOneEach);
  EXPECT_EQ(tokens_of(response), (Tokens{1, 1}));
  ResponseFlags expected;
  expected.usage_only_at_end = true;
  EXPECT_EQ(response.flags, expected);
}

TEST(TokenStream, RunningUsageSaysHowManyTokensAChunkHolds) {
  const ResponseEnd end = response_of({role(usage(0)), chunk("content", "a b c", usage(3)),
                                       chunk("content", "d", usage(4)), finish("stop", usage(5)),
                                       total(usage(5)), "[DONE]"});
  EXPECT_EQ(end.failure, Failure::kNone);
  EXPECT_EQ(tokens_of(end.response), (Tokens{3, 1, 1}));  // the last is the end token, without text
  EXPECT_FALSE(end.response.chunks[2].has_text());
  EXPECT_EQ(end.response.tokens.output, 5);
  EXPECT_EQ(end.response.tokens.by_chunks, 2);
  EXPECT_EQ(end.response.tokens.on_chunks, ChunkTokens::kRunningUsage);
  EXPECT_EQ(end.response.flags, ResponseFlags());
}

TEST(TokenStream, ATotalIsLaidOnChunksByTheirLength) {
  const ResponseEnd end = response_of({chunk("content", "12345678"), chunk("content", "1"),
                                       chunk("content", "1234567"), finish(), total(usage(11))});
  EXPECT_EQ(tokens_of(end.response), (Tokens{5, 2, 4}));
  EXPECT_EQ(end.response.tokens.on_chunks, ChunkTokens::kByLength);
  EXPECT_TRUE(end.response.flags.no_done);
  // The same, where the total comes with the last choice rather than behind it.
  EXPECT_EQ(tokens_of(response_of({chunk("content", "12345678"), chunk("content", "1"),
                                   chunk("content", "1234567"), finish("stop", usage(11))})
                          .response),
            (Tokens{5, 2, 4}));
}

TEST(TokenStream, WithoutUsageTheTokeniserCountsElseTheChunks) {
  const std::vector<std::string> events{chunk("reasoning_content", "so then"),
                                        chunk("content", "a b"), chunk("content", " c"), finish(),
                                        "[DONE]"};
  const Response told = response_of(events, {.tokenizer = words}).response;
  EXPECT_EQ(told.tokens.source, CountSource::kTokenizer);
  EXPECT_EQ(told.tokens.output, 5);
  EXPECT_EQ(told.tokens.reasoning, 2);
  EXPECT_EQ(told.tokens.answer(), 3);
  EXPECT_TRUE(told.flags.no_usage);
  const Response counted = response_of(events).response;
  EXPECT_EQ(counted.tokens.source, CountSource::kChunks);
  EXPECT_EQ(counted.tokens.output, 3);
  EXPECT_EQ(counted.tokens.reasoning, 1);
  EXPECT_EQ(tokens_of(counted), (Tokens{1, 1, 1}));
}

TEST(TokenStream, ContradictionsAreFlaggedAndUsageHolds) {
  // A total that is not what the running count came to.
  Response response = response_of({chunk("content", "a", usage(1)), chunk("content", "b", usage(2)),
                                   finish("stop", usage(2)), total(usage(7)), "[DONE]"})
                          .response;
  EXPECT_TRUE(response.flags.total_differs);
  EXPECT_EQ(response.tokens.output, 7);
  EXPECT_EQ(tokens_of(response), (Tokens{1, 6}));
  // A count that falls.
  response = response_of({chunk("content", "a", usage(3)), chunk("content", "b", usage(2)),
                          finish(), "[DONE]"})
                 .response;
  EXPECT_TRUE(response.flags.usage_fell);
  EXPECT_EQ(response.tokens.output, 3);
  // Fewer tokens than chunks.
  response = response_of({chunk("content", "a"), chunk("content", "b"), chunk("content", "c"),
                          finish(), total(usage(2)), "[DONE]"})
                 .response;
  EXPECT_TRUE(response.flags.fewer_than_chunks);
  EXPECT_EQ(response.tokens.output, 2);
  EXPECT_EQ(tokens_of(response), (Tokens{1, 0, 1}));
  // The tokeniser has another count, by more than the end token.
  response = response_of({chunk("content", "a b c"), finish(), total(usage(9)), "[DONE]"},
                         {.tokenizer = words})
                 .response;
  EXPECT_TRUE(response.flags.tokenizer_differs);
  EXPECT_EQ(response.tokens.by_tokenizer, 3);
  EXPECT_EQ(response.tokens.output, 9);
  EXPECT_FALSE(response_of({chunk("content", "a b c"), finish(), total(usage(4)), "[DONE]"},
                           {.tokenizer = words})
                   .response.flags.tokenizer_differs);
}

TEST(TokenStream, AUsageOfNothingIsNotBelieved) {
  const Response response = response_of({chunk("content", "a", usage(0)),
                                         chunk("content", "b", usage(0)), finish(), "[DONE]"})
                                .response;
  EXPECT_TRUE(response.flags.usage_of_nothing);
  EXPECT_EQ(response.tokens.source, CountSource::kChunks);
  EXPECT_EQ(response.tokens.output, 2);
  EXPECT_EQ(response.tokens.by_usage, 0);
  // Nothing until the total comes, as a gateway writes it.
  const Response late =
      response_of({chunk("content", "a", usage(0)), chunk("content", "b", usage(0)),
                   finish("stop", usage(0)), total(usage(2)), "[DONE]"})
          .response;
  EXPECT_EQ(late.tokens.source, CountSource::kUsage);
  EXPECT_EQ(tokens_of(late), (Tokens{1, 1}));
}

TEST(TokenStream, ReasoningAnswerToolCallsAndRefusalsAreToldApart) {
  const ResponseEnd end = response_of(
      {role(), chunk("reasoning_content", "hm"), chunk("reasoning", "well"),
       R"({"choices":[{"delta":{"reasoning":"so","reasoning_content":"so","content":null}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"look",)"
       R"("arguments":""}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]})",
       finish("tool_calls"), "[DONE]"},
      {.keep_text = true});
  const Response& response = end.response;
  EXPECT_EQ(response.first_chunk, ms(1));
  EXPECT_EQ(response.first_token, ms(2));
  EXPECT_EQ(response.first_reasoning, ms(2));
  EXPECT_EQ(response.first_answer, ms(5));
  EXPECT_EQ(response.tokens.output, 5);  // "so" came twice under two names
  EXPECT_EQ(response.tokens.reasoning, 3);
  EXPECT_EQ(response.text, "look{}");
  EXPECT_EQ(response.finish_reason, "tool_calls");

  const ResponseEnd refused = response_of({chunk("refusal", "No."), finish("content_filter")});
  EXPECT_EQ(refused.response.first_answer, ms(1));
  EXPECT_EQ(refused.failure, Failure::kNone);
  EXPECT_EQ(refused.response.finish_reason, "content_filter");
}

TEST(TokenStream, TheServersCountOfReasoningHolds) {
  const std::string counts = R"(,"usage":{"prompt_tokens":5,"completion_tokens":100,)"
                             R"("completion_tokens_details":{"reasoning_tokens":90},)"
                             R"("prompt_tokens_details":{"cached_tokens":4}})";
  const Response response =
      response_of({chunk("reasoning", "x"), chunk("content", "y"), finish(), total(counts)})
          .response;
  EXPECT_EQ(response.tokens.reasoning, 90);
  EXPECT_EQ(response.tokens.answer(), 10);
  EXPECT_TRUE(response.tokens.reasoning_is_servers);
  EXPECT_EQ(response.tokens.cached, 4);
  // SGLang's place for it.
  EXPECT_EQ(response_of({chunk("content", "y"), finish(),
                         total(R"(,"usage":{"completion_tokens":9,"reasoning_tokens":7})")})
                .response.tokens.reasoning,
            7);
}

TEST(TokenStream, Completions) {
  const Response response =
      response_of({R"({"object":"text_completion","choices":[{"index":0,"text":"Hi"}]})",
                   R"({"choices":[{"index":0,"text":" you","finish_reason":"stop"}]})", "[DONE]"},
                  {.keep_text = true})
          .response;
  EXPECT_EQ(response.text, "Hi you");
  EXPECT_EQ(response.first_token, ms(1));
  EXPECT_EQ(response.last_chunk, ms(2));
}

TEST(TokenStream, ContentInParts) {
  const Response response =
      response_of({R"({"choices":[{"delta":{"content":[{"type":"text","text":"a"},)"
                   R"({"type":"image"},{"type":"text","text":"b"}]}}]})",
                   finish()},
                  {.keep_text = true})
          .response;
  EXPECT_EQ(response.text, "ab");
}

TEST(TokenStream, ErrorsInsideAStreamOfStatus200) {
  struct Case {
    std::string data;
    std::string message;
    int status;
  };
  for (const Case& c : std::vector<Case>{
           {R"({"error":{"message":"out of memory","type":"x","code":500}})", "out of memory", 500},
           {R"({"error":{"message":"slow down","code":"429"}})", "slow down", 429},
           {R"({"error":{"type":"overloaded_error"}})", "overloaded_error", 0},
           {R"({"error":"boom","error_type":"x"})", "boom", 0},
           {R"({"error":{}})", "an error without a message", 0},
           {R"({"object":"error","message":"too long","code":400})", "too long", 400},
           {finish("abort"), "finish_reason is 'abort'", 0},
       }) {
    const ResponseEnd end = response_of({chunk("content", "a"), c.data, "[DONE]"});
    EXPECT_EQ(end.failure, Failure::kErrorInStream) << c.data;
    EXPECT_EQ(end.message, c.message) << c.data;
    EXPECT_EQ(end.status, c.status) << c.data;
    EXPECT_EQ(end.response.tokens.output, 1) << c.data;
  }
  EXPECT_EQ(
      response_of({R"({"error":null,"choices":[{"text":"a","finish_reason":"stop"}]})"}).failure,
      Failure::kNone);
}

TEST(TokenStream, HowAStreamEnds) {
  const std::string text = chunk("content", "a");
  EXPECT_EQ(response_of({text}).failure, Failure::kTruncated);
  EXPECT_EQ(response_of(std::vector<std::string>{}).failure, Failure::kTruncated);
  EXPECT_EQ(response_of({text, R"({"choices":[{"del)"}).failure, Failure::kTruncated);
  EXPECT_EQ(response_of({text, finish()}).failure, Failure::kNone);
  EXPECT_EQ(response_of({text, " [DONE] "}).failure, Failure::kNone);
  EXPECT_TRUE(response_of({text, "[DONE]"}).response.flags.no_finish_reason);
  EXPECT_EQ(response_of({text, "nonsense", finish(), "[DONE]"}).failure, Failure::kMalformed);
  EXPECT_EQ(response_of({text, "[1]", finish(), "[DONE]"}).failure, Failure::kMalformed);
  // What stands behind [DONE] is not looked at; neither are empty events and ones without choices.
  EXPECT_EQ(response_of({text, "", R"({"type":"ping"})", finish(), "[DONE]", "nonsense"}).failure,
            Failure::kNone);
}

TEST(TokenStream, SeveralChoicesEndEachForItself) {
  const std::vector<std::string> events{chunk("content", "a", "", 0), chunk("content", "b", "", 1),
                                        finish("stop", "", 1), chunk("content", "c", "", 0)};
  EXPECT_EQ(response_of(events, {.choices = 2}).failure, Failure::kTruncated);
  std::vector<std::string> whole = events;
  whole.push_back(finish("length", "", 0));
  whole.push_back(total(usage(3)));
  const ResponseEnd end = response_of(whole, {.choices = 2});
  EXPECT_EQ(end.failure, Failure::kNone);
  EXPECT_EQ(end.response.choices, 2U);
  EXPECT_EQ(end.response.chunks[1].choice, 1U);
  EXPECT_EQ(end.response.tokens.output, 3);
  EXPECT_EQ(response_of({finish()}, {.choices = 2}).failure, Failure::kTruncated);
  EXPECT_EQ(response_of({chunk("content", "a", "", 70000), finish()}).failure, Failure::kMalformed);
  // Both in one event, with a running count.
  const Response both =
      response_of({R"({"choices":[{"index":0,"text":"a"},{"index":1,"text":"b"}])" + usage(5) + "}",
                   finish("stop", "", 0), finish("stop", "", 1)},
                  {.choices = 2})
          .response;
  EXPECT_EQ(tokens_of(both), (Tokens{1, 4}));
}

TEST(TokenStream, AResponseThatIsNotStreamed) {
  StreamEventReader reader;
  TokenStream stream(reader, {.keep_text = true});
  stream.note_byte(ms(3));
  stream.take_body(R"({"choices":[{"message":{"role":"assistant","content":"Hi",)"
                   R"("reasoning_content":"hm"},"finish_reason":"stop"}])" +
                       usage(40) + "}",
                   ms(5));
  const ResponseEnd end = stream.finish();
  EXPECT_EQ(end.failure, Failure::kNone);
  EXPECT_FALSE(end.response.is_streamed);
  EXPECT_EQ(end.response.first_byte, ms(3));
  EXPECT_EQ(end.response.last_chunk, ms(5));
  EXPECT_EQ(end.response.tokens.output, 40);
  EXPECT_EQ(end.response.text, "Hi");
  EXPECT_FALSE(end.response.flags.usage_only_at_end);

  const auto failure_of = [&](std::string_view body) {
    TokenStream other(reader);
    other.take_body(body, ms(1));
    return other.finish().failure;
  };
  EXPECT_EQ(failure_of(R"({"error":{"message":"x"}})"), Failure::kErrorInStream);
  EXPECT_EQ(failure_of("{}"), Failure::kMalformed);
  EXPECT_EQ(failure_of(R"({"choices":)"), Failure::kMalformed);
}

TEST(TokenStream, TokensWithoutAnyText) {
  // Hidden reasoning that ran into the limit: all of it counts, and none of it is a first token.
  const Response response =
      response_of({role(), finish("length"), total(usage(64)), "[DONE]"}).response;
  EXPECT_EQ(response.tokens.output, 64);
  EXPECT_FALSE(response.first_token);
  EXPECT_EQ(tokens_of(response), (Tokens{64}));
  EXPECT_EQ(response.chunks[0].at, ms(2));
  // Told while it goes on.
  const Response running = response_of({role(usage(0)), role(usage(30)), role(usage(60)),
                                        chunk("content", "a", usage(61)), finish(), "[DONE]"})
                               .response;
  EXPECT_EQ(tokens_of(running), (Tokens{30, 30, 1}));
  EXPECT_EQ(running.first_token, ms(4));
}

TEST(TokenStream, CountsThatNoRequestHasAreNone) {
  for (const std::string count : {"-1", "1e3", "\"7\"", "99999999999", "null", "[]"}) {
    const Response response =
        response_of({chunk("content", "a"), finish(),
                     total(R"(,"usage":{"completion_tokens":)" + count + "}"), "[DONE]"})
            .response;
    EXPECT_EQ(response.tokens.source, CountSource::kChunks) << count;
  }
}

}  // namespace
}  // namespace perjoule

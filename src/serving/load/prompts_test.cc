#include "serving/load/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perjoule {
namespace {

using testing::HasSubstr;

std::vector<Prompt> jsonl(std::string_view text) {
  auto prompts = prompts_of_jsonl(text, "prompts.jsonl");
  EXPECT_TRUE(prompts) << prompts.error().text();
  return prompts.value_or(std::vector<Prompt>());
}
std::string jsonl_error(std::string_view text) {
  const auto prompts = prompts_of_jsonl(text, "prompts.jsonl");
  EXPECT_FALSE(prompts);
  return prompts ? "" : prompts.error().text();
}

TEST(Prompts, LinesOfEachKind) {
  const auto prompts = jsonl(
      "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":7}\r\n"
      "\n"
      "{\"prompt\":\"Once \\u00fcber\",\"prompt_tokens\":3,\"output_tokens\":9,\"timestamp\":1.5}\n"
      "{\"prompt\":[1,2,3],\"input_length\":3,\"output_length\":4,\"max_tokens\":null}");
  ASSERT_EQ(prompts.size(), 3U);
  EXPECT_EQ(prompts[0].messages, R"([{"role":"user","content":"Hi"}])");
  EXPECT_EQ(prompts[0].text, "");
  EXPECT_EQ(prompts[0].output_tokens, 7);
  EXPECT_FALSE(prompts[0].prompt_tokens);
  EXPECT_EQ(prompts[1].text, "\"Once \u00fcber\"");
  EXPECT_EQ(prompts[1].prompt_tokens, 3);
  EXPECT_EQ(prompts[1].output_tokens, 9);
  EXPECT_EQ(prompts[1].arrival, Seconds(1.5));
  EXPECT_EQ(prompts[2].text, "[1,2,3]");
  EXPECT_EQ(prompts[2].output_tokens, 4);
}

TEST(Prompts, AChatWithPicturesStaysAsItIs) {
  const std::string messages =
      R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:x"}}]}])";
  EXPECT_EQ(jsonl(R"({"messages":)" + messages + "}").front().messages, messages);
}

TEST(Prompts, WrongLinesNameThemselves) {
  EXPECT_THAT(jsonl_error("{\"prompt\":\"a\"}\n{\"prompt\":\"b\""),
              HasSubstr("prompts.jsonl: line 2: no JSON"));
  EXPECT_EQ(jsonl_error("[]"), "prompts.jsonl: line 1: no JSON object");
  EXPECT_EQ(jsonl_error("{\"text\":\"a\"}"),
            "prompts.jsonl: line 1: neither 'messages' nor 'prompt'");
  for (const std::string_view prompt : {"1", "[]", "[1.5]", "[-1]", "[\"a\"]", "null"}) {
    EXPECT_EQ(jsonl_error("{\"prompt\":" + std::string(prompt) + "}"),
              "prompts.jsonl: line 1: 'prompt' is neither a text nor a list of token ids")
        << prompt;
  }
  for (const std::string_view messages : {"1", "[]", "[1]", "[{\"role\":\"user\"}]"}) {
    EXPECT_EQ(jsonl_error("{\"messages\":" + std::string(messages) + "}"),
              "prompts.jsonl: line 1: 'messages' is no list of messages with role and content")
        << messages;
  }
  EXPECT_EQ(jsonl_error(R"({"prompt":"a","max_tokens":-1})"),
            "prompts.jsonl: line 1: 'max_tokens' is no count of tokens");
  EXPECT_EQ(jsonl_error(R"({"prompt":"a","timestamp":"now"})"),
            "prompts.jsonl: line 1: 'timestamp' is no number of seconds");
  EXPECT_EQ(jsonl_error("\n \n"), "no prompt in prompts.jsonl");
}

constexpr std::string_view kConversations = R"([
  {"id": "a", "conversations": [{"from": "system", "value": "Be brief."},
                                {"from": "human", "value": "One?"}, {"from": "gpt", "value": "1"},
                                {"from": "human", "value": "Two?"}, {"from": "gpt", "value": "2"},
                                {"from": "human", "value": "Three?"}]},
  {"id": "b", "conversations": [{"from": "gpt", "value": "I begin."},
                                {"from": "human", "value": "Unanswered?"}]},
  {"id": "c", "conversations": []},
  {"id": "d"},
  {"id": "e", "conversations": [{"from": "user", "value": "Hi"}, {"from": "assistant", "value": ""},
                                {"from": "tool", "value": "x"}, {"from": "user", "value": "Ho"},
                                {"from": "assistant", "value": "y"}]}])";

TEST(Prompts, TheFirstQuestionOfEachConversation) {
  const auto made = prompts_of_sharegpt(kConversations, "sharegpt.json");
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_EQ(made->prompts.size(), 2U);
  EXPECT_EQ(made->skipped, 3U);
  EXPECT_EQ(made->prompts[0].messages, R"([{"role":"system","content":"Be brief."},)"
                                       R"({"role":"user","content":"One?"}])");
  EXPECT_EQ(made->prompts[0].text, "\"One?\"");
  EXPECT_EQ(made->prompts[1].text, "\"Hi\"");
}

TEST(Prompts, EveryTurnWithWhatWentBefore) {
  const auto made = prompts_of_sharegpt(kConversations, "sharegpt.json", true);
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_EQ(made->prompts.size(), 3U) << "a speaker whom nobody knows ends a conversation";
  EXPECT_EQ(made->prompts[1].messages,
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"One?"},)"
            R"({"role":"assistant","content":"1"},{"role":"user","content":"Two?"}])");
}

TEST(Prompts, WhatIsNoListOfConversations) {
  EXPECT_EQ(prompts_of_sharegpt("{}", "x.json").error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(prompts_of_sharegpt("[1, {}]", "x.json").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(prompts_of_sharegpt("[", "x.json"));
}

TEST(Prompts, DrawnInRandomOrderAndToppedUp) {
  std::vector<Prompt> prompts;
  for (int i = 0; i < 50; ++i) prompts.push_back({.text = std::to_string(i)});
  const auto texts = [&](std::size_t count, std::uint64_t seed) {
    std::vector<std::string> drawn;
    for (const Prompt& prompt : drawn_prompts(prompts, count, seed)) drawn.push_back(prompt.text);
    return drawn;
  };
  EXPECT_EQ(texts(20, 1), texts(20, 1));
  EXPECT_NE(texts(20, 1), texts(20, 2));
  std::vector<std::string> all = texts(50, 3);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end()) << "none twice while there are others";
  EXPECT_EQ(texts(120, 3).size(), 120U);
  EXPECT_TRUE(texts(0, 3).empty());
  prompts.clear();
  EXPECT_TRUE(texts(5, 3).empty());
}

}  // namespace
}  // namespace perjoule

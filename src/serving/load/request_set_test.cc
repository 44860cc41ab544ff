#include "serving/load/request_set.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

const Prompt kChat{.messages = R"([{"role":"user","content":"Hi"}])", .text = "\"Hi\""};
const Prompt kText{.text = "\"Once\"", .prompt_tokens = 1, .output_tokens = 9};
const Prompt kIds{.text = "[1,2]", .arrival = Seconds(3)};

std::string body_of(const Prompt& prompt, const RequestShape& shape) {
  const auto set = make_requests({prompt}, shape);
  EXPECT_TRUE(set) << set.error().text();
  return set ? *set->requests.front().body : "";
}
std::string error_of(const std::vector<Prompt>& prompts, const RequestShape& shape) {
  const auto set = make_requests(prompts, shape);
  if (set) return "";
  EXPECT_EQ(set.error().code, ErrorCode::kInvalidArgument);
  return set.error().message;
}

TEST(RequestSet, AChat) {
  RequestShape shape{.model = "m \"1\"", .max_tokens = 16};
  shape.more["temperature"] = 0.8;
  EXPECT_EQ(body_of(kChat, shape),
            R"({"messages":[{"role":"user","content":"Hi"}],"model":"m \"1\"","stream":true,)"
            R"("stream_options":{"include_usage":true,"continuous_usage_stats":true},)"
            R"("max_completion_tokens":16,"temperature":0.8})");
  shape = {.model = "m", .max_tokens = 16, .is_streamed = false, .has_old_names = true};
  EXPECT_EQ(body_of(kText, shape),
            R"({"messages":[{"role":"user","content":"Once"}],"model":"m","stream":false,)"
            R"("max_tokens":16})");
}

TEST(RequestSet, ACompletionOfAFixedLength) {
  const RequestShape shape{.endpoint = Endpoint::kCompletions,
                           .model = "m",
                           .takes_lengths = true,
                           .has_fixed_length = true,
                           .wants_running_usage = false};
  EXPECT_EQ(body_of(kText, shape),
            R"({"prompt":"Once","model":"m","stream":true,"stream_options":{"include_usage":true},)"
            R"("max_tokens":9,"ignore_eos":true,"min_tokens":9})");
  const RequestShape bare{.endpoint = Endpoint::kCompletions,
                          .model = "m",
                          .wants_usage = false,
                          .wants_running_usage = false};
  EXPECT_EQ(body_of(kIds, bare), R"({"prompt":[1,2],"model":"m","stream":true})");
}

TEST(RequestSet, WhatIsKnownOfARequest) {
  const auto set = make_requests(
      {kText, kIds}, {.endpoint = Endpoint::kCompletions, .model = "m", .max_tokens = 4});
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ(set->path, "/v1/completions");
  EXPECT_EQ(set->requests[0].max_tokens, 4);
  EXPECT_EQ(set->requests[0].prompt_tokens, 1);
  EXPECT_EQ(set->requests[1].arrival, Seconds(3));
  EXPECT_EQ(path_of(Endpoint::kChat), "/v1/chat/completions");
}

TEST(RequestSet, AnAnswersLengthIsAtMostTheLimit) {
  RequestShape shape{.endpoint = Endpoint::kCompletions, .model = "m", .takes_lengths = true};
  const auto limit = [&] { return make_requests({kText}, shape)->requests.front().max_tokens; };
  EXPECT_EQ(limit(), 9);
  shape.max_tokens = 4;
  EXPECT_EQ(limit(), 4);
}

TEST(RequestSet, ShapesAndPromptsThatDoNotFit) {
  EXPECT_EQ(error_of({}, {.model = "m"}), "there is no prompt to make requests of");
  EXPECT_EQ(error_of({kText, Prompt{}}, {.model = "m"}), "prompt 2: it is empty");
  EXPECT_EQ(error_of({kText, kIds}, {.model = "m"}),
            "prompt 2: token ids cannot be sent to the chat endpoint");
  const Prompt chat_alone{.messages = kChat.messages};
  EXPECT_EQ(error_of({chat_alone}, {.endpoint = Endpoint::kCompletions, .model = "m"}),
            "prompt 1: a chat cannot be sent to the completions endpoint");
  EXPECT_EQ(error_of({kChat}, {.model = "m", .takes_lengths = true}),
            "prompt 1: it says no length of its answer");
  EXPECT_EQ(error_of({kChat}, {.model = "m", .has_fixed_length = true}),
            "answers of a fixed length need a length");
  EXPECT_EQ(error_of({kChat}, {.model = "m", .max_tokens = 0}),
            "a limit of tokens must be 1 or above: 0");
  RequestShape shape{.model = "m"};
  shape.more["stream"] = false;
  EXPECT_EQ(error_of({kChat}, shape), "a request's member is set by its own option: stream");
  shape.more = Json::array();
  EXPECT_EQ(error_of({kChat}, shape), "a request's further members are no JSON object");
}

}  // namespace
}  // namespace perjoule

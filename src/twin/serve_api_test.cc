#include "twin/serve_api.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "twin/serve_text.h"

namespace perjoule::twin {
namespace {

const ApiSettings kSettings{.models = {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
                            .context_tokens = 1000};

ApiResult<ApiRequest> chat(const std::string& more = "") {
  return parse_request(
      Endpoint::kChat,
      R"({"model":"llama-3.1-8b","messages":[{"role":"user","content":"hello you"}])" + more + "}",
      kSettings);
}
ApiResult<ApiRequest> completion(const std::string& prompt, const std::string& more = "") {
  return parse_request(Endpoint::kCompletions,
                       R"({"model":"llama-3.1-8b","prompt":)" + prompt + more + "}", kSettings);
}

TEST(ServeApi, AChatHasItsTemplatesTokensAndAllTheRoomThereIs) {
  const auto request = chat();
  ASSERT_TRUE(request) << request.error().message;
  ASSERT_EQ(request->choices.size(), 1u);
  // Marks 3 + 3, "user", "hell" "o" " you".
  EXPECT_EQ(request->prompt_tokens, 10);
  EXPECT_EQ(request->choices[0].prompt.size(), 10u);
  EXPECT_EQ(request->choices[0].max_tokens, 990);
  EXPECT_FALSE(request->choices[0].ignore_eos);
  EXPECT_FALSE(request->stream);
}

TEST(ServeApi, ReadsWhatVllmAdds) {
  const auto request = chat(
      R"(,"max_tokens":7,"min_tokens":5,"ignore_eos":true,"stop":["a","b"],"stream":true,)"
      R"("stream_options":{"include_usage":true,"continuous_usage_stats":true},"n":2,"seed":4)");
  ASSERT_TRUE(request) << request.error().message;
  ASSERT_EQ(request->choices.size(), 2u);
  EXPECT_EQ(request->choices[1].max_tokens, 7);
  EXPECT_EQ(request->choices[1].min_tokens, 5);
  EXPECT_TRUE(request->choices[1].ignore_eos);
  EXPECT_EQ(request->choices[1].stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(request->choices[0].salt, request->choices[1].salt);
  EXPECT_EQ(request->prompt_tokens, 10);  // once
  EXPECT_TRUE(request->stream && request->include_usage && request->continuous_usage);
}

TEST(ServeApi, TheNewerNameOfMaxTokensCounts) {
  EXPECT_EQ(chat(R"(,"max_tokens":7,"max_completion_tokens":9)")->choices[0].max_tokens, 9);
  EXPECT_EQ(chat(R"(,"max_tokens":null,"stop":null,"n":null)")->choices[0].max_tokens, 990);
}

TEST(ServeApi, PartsOfAMessageAreItsText) {
  const auto parts = parse_request(
      Endpoint::kChat,
      R"({"model":"llama-3.1-8b","messages":[{"role":"user","content":[{"type":"text","text":"hello"},)"
      R"({"type":"text","text":" you"}]}]})",
      kSettings);
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(parts->choices[0].prompt, chat()->choices[0].prompt);
}

TEST(ServeApi, PromptsAreTextTokensOrListsOfEither) {
  EXPECT_EQ(completion("\"one two\"")->choices[0].prompt, tokens_of("one two"));
  EXPECT_EQ(completion("\"one\"")->choices[0].max_tokens, 16);
  EXPECT_EQ(completion("[5,6,7]")->choices[0].prompt, (std::vector<std::uint32_t>{5, 6, 7}));
  const auto texts = completion(R"(["one","two three"])", R"(,"n":2)");
  ASSERT_TRUE(texts);
  EXPECT_EQ(texts->choices.size(), 4u);
  EXPECT_EQ(texts->choices[1].prompt, tokens_of("one"));
  EXPECT_EQ(texts->prompt_tokens, 1 + 3);
  EXPECT_EQ(completion("[[1,2],[3]]")->choices[1].prompt, (std::vector<std::uint32_t>{3}));
}

TEST(ServeApi, ErrorsNameTheMemberAndHaveTheirStatus) {
  const auto refused = [](const ApiResult<ApiRequest>& request) {
    return request ? std::string("taken")
                   : std::to_string(request.error().status) + " " + request.error().param;
  };
  EXPECT_EQ(refused(chat(R"(,"max_tokens":0)")), "400 max_tokens");
  EXPECT_EQ(refused(chat(R"(,"max_tokens":1.5)")), "400 max_tokens");
  EXPECT_EQ(refused(chat(R"(,"max_tokens":991)")), "400 max_tokens");
  EXPECT_EQ(refused(chat(R"(,"n":0)")), "400 n");
  EXPECT_EQ(refused(chat(R"(,"n":129)")), "400 n");
  EXPECT_EQ(refused(chat(R"(,"min_tokens":9,"max_tokens":8)")), "400 min_tokens");
  EXPECT_EQ(refused(chat(R"(,"stop":"")")), "400 stop");
  EXPECT_EQ(refused(chat(R"(,"stop":[1])")), "400 stop");
  EXPECT_EQ(refused(chat(R"(,"stream":"yes")")), "400 stream");
  EXPECT_EQ(refused(chat(R"(,"stream_options":{"include_usage":true})")), "400 stream_options");
  EXPECT_EQ(refused(chat(R"(,"tools":[])")), "400 tools");
  EXPECT_EQ(refused(chat(R"(,"logprobs":true)")), "400 logprobs");
  EXPECT_EQ(refused(chat(R"(,"logprobs":false)")), "taken");
  EXPECT_EQ(refused(completion("7")), "400 prompt");
  EXPECT_EQ(refused(completion("\"\"")), "400 prompt");
  EXPECT_EQ(refused(completion("[]")), "400 prompt");
  EXPECT_EQ(refused(completion("[1,\"x\"]")), "400 prompt");
  EXPECT_EQ(refused(completion("[-1]")), "400 prompt");
  EXPECT_EQ(refused(completion("[\"" + std::string(5000, 'x') + "\"]")), "400 prompt");
  const auto body = [&](const char* text) {
    return refused(parse_request(Endpoint::kChat, text, kSettings));
  };
  EXPECT_EQ(body("{"), "400 ");
  EXPECT_EQ(body("[]"), "400 ");
  EXPECT_EQ(body("{}"), "400 model");
  EXPECT_EQ(body(R"({"model":"gpt-5","messages":[]})"), "404 model");
  EXPECT_EQ(body(R"({"model":"llama-3.1-8b"})"), "400 messages");
  EXPECT_EQ(body(R"({"model":"llama-3.1-8b","messages":[]})"), "400 messages");
  EXPECT_EQ(body(R"({"model":"llama-3.1-8b","messages":["hi"]})"), "400 messages");
  EXPECT_EQ(body(R"({"model":"llama-3.1-8b","messages":[{"role":"user","content":)"
                 R"([{"type":"image_url"}]}]})"),
            "400 messages");
}

TEST(ServeApi, AnErrorHasTheShapeThatClientsKnow) {
  EXPECT_EQ(error_body(bad_request("no", "n")),
            R"({"error":{"message":"no","type":"invalid_request_error","param":"n","code":null}})");
  EXPECT_EQ(too_many_requests(2).status, 429);
  EXPECT_EQ(too_many_requests(2).retry_after_s, 2);
}

TEST(ServeApi, AKeyIsAskedForWhereOneIsSet) {
  EXPECT_TRUE(check_key("", kSettings));
  ApiSettings locked = kSettings;
  locked.api_key = "secret";
  EXPECT_TRUE(check_key("Bearer secret", locked));
  EXPECT_TRUE(check_key("bearer secret", locked));
  for (const char* wrong :
       {"", "secret", "Bearer", "Bearer secre", "Bearer secret2", "Basic secret"}) {
    const auto checked = check_key(wrong, locked);
    ASSERT_FALSE(checked) << wrong;
    EXPECT_EQ(checked.error().status, 401);
    EXPECT_EQ(checked.error().code, "invalid_api_key");
  }
}

TEST(ServeApi, ListsItsModels) {
  const auto body = parse_json(models_body(kSettings, 123));
  ASSERT_TRUE(body);
  EXPECT_EQ(body->string("object"), "list");
  const Json::Array& data = *body->find("data")->as_array();
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data[0].string("id"), "meta-llama/Llama-3.1-8B-Instruct");
  EXPECT_EQ(data[0].integer("max_model_len"), 1000);
}

}  // namespace
}  // namespace perjoule::twin

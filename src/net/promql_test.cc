#include "net/promql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "net/test_http_server.h"

namespace perjoule {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string success(const std::string& type, const std::string& result) {
  return R"({"status":"success","data":{"resultType":")" + type + R"(","result":)" + result + "}}";
}

TEST(PromqlAnswer, AMatrix) {
  const auto answer = parse_promql_answer(success(
      "matrix", R"([{"metric":{"__name__":"up","job":"a"},"values":[[1.5,"1"],[2,"-2e3"]]},)"
                R"({"metric":{},"values":[]}])"));
  ASSERT_TRUE(answer) << answer.error().text();
  ASSERT_EQ(answer->series.size(), 2U);
  EXPECT_EQ(answer->series[0].label("job"), "a");
  EXPECT_EQ(answer->series[0].label("none"), "");
  EXPECT_EQ(answer->series[0].points,
            (std::vector<PromPoint>{{Seconds(1.5), 1}, {Seconds(2), -2000}}));
  EXPECT_TRUE(answer->series[1].points.empty());
}

TEST(PromqlAnswer, AVectorAScalarAndNumbersThatAreNone) {
  const auto vector = parse_promql_answer(
      success("vector", R"([{"metric":{},"value":[1,"NaN"]},{"metric":{},"value":[1,"-Inf"]}])"));
  ASSERT_TRUE(vector);
  EXPECT_TRUE(std::isnan(vector->series[0].points[0].value));
  EXPECT_TRUE(std::isinf(vector->series[1].points[0].value));
  const auto scalar = parse_promql_answer(success("scalar", R"([7,"3"])"));
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->series[0].points, (std::vector<PromPoint>{{Seconds(7), 3}}));
}

TEST(PromqlAnswer, WhatIsNoneIsRefused) {
  const std::pair<std::string, ErrorCode> cases[] = {
      {"", ErrorCode::kDataLoss},
      {"<html>", ErrorCode::kDataLoss},
      {"[]", ErrorCode::kDataLoss},
      {R"({"status":"success"})", ErrorCode::kDataLoss},
      {success("odd", "[]"), ErrorCode::kDataLoss},
      {success("scalar", R"([7,3])"), ErrorCode::kDataLoss},
      {success("vector", R"([{"value":[1,"1"]}])"), ErrorCode::kDataLoss},
      {success("vector", R"([{"metric":{"a":1},"value":[1,"1"]}])"), ErrorCode::kDataLoss},
      {success("vector", R"([{"metric":{}}])"), ErrorCode::kDataLoss},
      {success("matrix", R"([{"metric":{},"values":[[2,"1"],[2,"1"]]}])"), ErrorCode::kDataLoss},
      {success("matrix", R"([{"metric":{},"values":[[2,"one"]]}])"), ErrorCode::kDataLoss},
      {success("matrix", R"([{"metric":{},"histograms":[]}])"), ErrorCode::kNotSupported},
      {success("string", R"([1,"a"])"), ErrorCode::kNotSupported},
      {R"({"status":"error","errorType":"bad_data","error":"x"})", ErrorCode::kInvalidArgument},
      {R"({"status":"error","errorType":"timeout","error":"x"})", ErrorCode::kTimeout},
      {R"({"status":"error","errorType":"execution","error":"x"})", ErrorCode::kInternal},
  };
  for (const auto& [text, code] : cases) {
    const auto answer = parse_promql_answer(text);
    ASSERT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().code, code) << text << ": " << answer.error().text();
  }
}

/// What the server was asked, and what became of the answer it gave.
struct Asked {
  std::string request;
  Result<PromAnswer> answer;
};

Asked ask(const std::string& status, const std::string& body, const std::string& variable = "") {
  std::string seen;
  std::mutex mutex;
  TestHttpServer server([&](TestPeer& peer) {
    while (const auto request = peer.read_request()) {
      {
        const std::lock_guard lock(mutex);
        seen = *request;
      }
      peer.send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    }
  });
  const RealClock clock;
  const Prometheus prometheus(
      {.url = HttpUrl::parse(server.url() + "/below").value(), .token_variable = variable}, clock);
  auto answer = prometheus.range("a{b=\"c d\"}", Seconds(1.25), Seconds(61), Seconds(15));
  const std::lock_guard lock(mutex);
  return {seen, std::move(answer)};
}

TEST(Prometheus, ARangeAsItIsAsked) {
  ::setenv("PERJOULE_TEST_TOKEN", "sesame", 1);
  const Asked asked = ask("200 OK", success("matrix", "[]"), "PERJOULE_TEST_TOKEN");
  ::unsetenv("PERJOULE_TEST_TOKEN");
  ASSERT_TRUE(asked.answer) << asked.answer.error().text();
  EXPECT_THAT(asked.request, HasSubstr("POST /below/api/v1/query_range HTTP/1.1\r\n"));
  EXPECT_THAT(asked.request, HasSubstr("Authorization: Bearer sesame\r\n"));
  EXPECT_THAT(asked.request, HasSubstr("query=a%7Bb%3D%22c%20d%22%7D&start=1.250&end=61.000&"
                                       "step=15.000&timeout=30000ms"));
}

TEST(Prometheus, WhatTheServerAnswersInstead) {
  const std::string refusal = R"({"status":"error","errorType":"bad_data","error":"parse error"})";
  const auto refused = ask("400 Bad Request", refusal).answer;
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().text(), HasSubstr("parse error"));
  const auto code_of = [](const std::string& status, const std::string& body) {
    const auto answer = ask(status, body).answer;
    return answer ? ErrorCode::kOk : answer.error().code;
  };
  EXPECT_EQ(code_of("401 Unauthorized", "who?"), ErrorCode::kPermissionDenied);
  EXPECT_EQ(code_of("404 Not Found", "nothing"), ErrorCode::kNotFound);
  EXPECT_EQ(code_of("502 Bad Gateway", "<html>"), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of("200 OK", "<html>"), ErrorCode::kDataLoss);
}

TEST(Prometheus, NobodyThere) {
  const RealClock clock;
  const Prometheus nobody({.url = HttpUrl::parse("http://127.0.0.1:1").value()}, clock);
  const auto answer = nobody.instant("up", Seconds(1));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().text(), HasSubstr("127.0.0.1:1"));
  const auto backward = nobody.range("up", Seconds(2), Seconds(1), Seconds(1));
  ASSERT_FALSE(backward);
  EXPECT_EQ(backward.error().code, ErrorCode::kInvalidArgument);
}

TEST(Prometheus, AServerThatSaysNothing) {
  TestHttpServer server([](TestPeer& peer) {
    (void)peer.read_request();
    peer.wait_until_hung_up();
  });
  const RealClock clock;
  const Prometheus silent({.url = HttpUrl::parse(server.url()).value(), .timeout = Seconds(0.05)},
                          clock);
  const auto answer = silent.instant("up", Seconds(1));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
}

}  // namespace
}  // namespace perjoule

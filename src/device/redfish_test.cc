#include "device/redfish.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {
using namespace literals;

Result<Watts> parse(const std::string& text) { return parse_redfish_power(*parse_json(text)); }

TEST(Redfish, PowerIsFoundInEitherResource) {
  EXPECT_EQ(*parse(R"({"PowerControl":[{"PowerConsumedWatts":344,"PowerMetrics":
      {"IntervalInMin":60,"AverageConsumedWatts":319}}]})"),
            344.0_W);
  // Further controls are parts of the first on some makes: never added.
  EXPECT_EQ(*parse(R"({"PowerControl":[{"PowerConsumedWatts":344},{"PowerConsumedWatts":80}]})"),
            344.0_W);
  EXPECT_EQ(*parse(R"({"PowerControl":[{"PowerConsumedWatts":null,"PowerMetrics":
      {"AverageConsumedWatts":319}}]})"),
            319.0_W);
  EXPECT_EQ(*parse(R"({"PowerWatts":{"Reading":403.5}})"), 403.5_W);
}

TEST(Redfish, WhatIsNoPowerIsAnErrorNeverZero) {
  for (const char* text :
       {"{}", "[]", "7", R"({"PowerControl":[]})", R"({"PowerControl":7})",
        R"({"PowerControl":[{}]})", R"({"PowerControl":[{"PowerConsumedWatts":"344"}]})",
        R"({"PowerControl":[{"PowerConsumedWatts":-1}]})", R"({"PowerWatts":{"Reading":null}})",
        R"({"PowerWatts":7})"}) {
    EXPECT_FALSE(parse(text)) << text;
  }
}

TEST(Redfish, TheSourceHandsOutFreshAnswersOnly) {
  VirtualClock clock;
  Result<std::string> answer = std::string(R"({"PowerWatts":{"Reading":400}})");
  SourceInfo info;
  info.tick = 10.0_s;
  RedfishSource source(
      info, [&] { return answer; }, clock);
  EXPECT_EQ(source.read().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(source.refresh());
  EXPECT_EQ(source.read().micro, 400'000'000U);
  clock.advance(29.0_s);
  EXPECT_EQ(source.read().code, ErrorCode::kOk);
  clock.advance(2.0_s);
  EXPECT_EQ(source.read().code, ErrorCode::kUnavailable);
  answer = Error::permission_denied("HTTP status 401");
  EXPECT_FALSE(source.refresh());
  EXPECT_EQ(source.read().code, ErrorCode::kPermissionDenied);
  answer = std::string("<html>");
  EXPECT_FALSE(source.refresh());
  EXPECT_NE(source.read().code, ErrorCode::kOk);
}

TEST(Redfish, AControllerThatCannotBeReachedIsSaidAtTheStart) {
  const VirtualClock clock;
  RedfishOptions options;
  // A port on this machine that nothing listens on: nothing leaves it.
  options.url = "http://127.0.0.1:1/redfish/v1/Chassis/1/Power";
  options.timeout = 2.0_s;
  const auto device = open_redfish(options, clock);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::kUnavailable);
  const auto node = open_redfish(
      options, [] { return Result<std::string>(R"({"PowerWatts":{"Reading":9}})"); }, clock);
  ASSERT_TRUE(node);
  EXPECT_EQ((*node)->sources().at(0)->read().micro, 9'000'000U);
  EXPECT_EQ((*node)->sources()[0]->info().boundary, Boundary::kNode);
}
}  // namespace
}  // namespace perjoule

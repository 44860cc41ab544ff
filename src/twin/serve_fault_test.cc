#include "twin/serve_fault.h"

#include <gtest/gtest.h>

namespace perjoule::twin {
namespace {

TEST(ServeFault, ReadsAllWords) {
  EXPECT_EQ(parse_serve_fault("multi-token:value=4")->value, 4);
  EXPECT_EQ(parse_serve_fault("empty-first")->kind, ServeFaultKind::kEmptyFirst);
  EXPECT_EQ(parse_serve_fault("reasoning:value=20")->field, "reasoning_content");
  EXPECT_EQ(parse_serve_fault("reasoning:value=20, field=reasoning")->field, "reasoning");
  EXPECT_EQ(parse_serve_fault("keep-alive")->value, 1);
  EXPECT_EQ(parse_serve_fault("error:after=0")->after, 0);
  EXPECT_EQ(parse_serve_fault("truncate:after=3,every=5")->every, 5);
  EXPECT_EQ(parse_serve_fault("busy:every=3,retry-after=1500ms")->retry_after_s, 2);
  EXPECT_DOUBLE_EQ(parse_serve_fault("stall:after=5,length=2s")->length.value(), 2);
  EXPECT_EQ(parse_serve_fault("no-usage")->kind, ServeFaultKind::kNoUsage);
  EXPECT_EQ(parse_serve_fault("split-utf8")->kind, ServeFaultKind::kSplitUtf8);
}

TEST(ServeFault, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", "melt", "multi-token", "multi-token:value=0", "multi-token:value=x", "error",
        "error:after=-1", "error:after", "stall:after=1", "stall:length=1s", "busy:every=0",
        "busy:after=3", "stall:after=1,length=-1s", "stall:after=1,length=2h",
        "reasoning:value=2,field=thoughts", "no-usage:value=1", "truncate:after=99999999999"}) {
    const auto fault = parse_serve_fault(text);
    ASSERT_FALSE(fault) << text;
    EXPECT_EQ(fault.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(fault.error().message.find(std::string("\"") + text + "\""), std::string::npos);
  }
  EXPECT_NE(parse_serve_fault("melt").error().text().find("split-utf8"), std::string::npos);
}

TEST(ServeFault, StrikesEachNthRequest) {
  const std::vector<ServeFault> faults = {*parse_serve_fault("no-usage"),
                                          *parse_serve_fault("busy:every=3")};
  EXPECT_EQ(faults_of(faults, 1).size(), 1u);
  EXPECT_EQ(faults_of(faults, 3).size(), 2u);
  EXPECT_EQ(find_fault(faults_of(faults, 2), ServeFaultKind::kBusy), nullptr);
  EXPECT_NE(find_fault(faults_of(faults, 6), ServeFaultKind::kBusy), nullptr);
}

}  // namespace
}  // namespace perjoule::twin

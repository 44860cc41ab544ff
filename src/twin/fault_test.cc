#include "twin/fault.h"

#include <gtest/gtest.h>

namespace perjoule::twin {
namespace {

TEST(Fault, ReadsAllWords) {
  const auto fault =
      parse_fault("return:call=nvmlDeviceGetPowerUsage,code=15,gpu=2,from=2s,until=3s,count=5");
  ASSERT_TRUE(fault) << fault.error().text();
  EXPECT_EQ(fault->kind, FaultKind::kReturn);
  EXPECT_EQ(fault->call, "nvmlDeviceGetPowerUsage");
  EXPECT_EQ(fault->code, 15);
  EXPECT_EQ(fault->device, 2);
  EXPECT_DOUBLE_EQ(fault->from.value(), 2);
  EXPECT_DOUBLE_EQ(fault->until.value(), 3);
  EXPECT_EQ(fault->count, 5);
}

TEST(Fault, ReadsAtDelayAndValue) {
  EXPECT_DOUBLE_EQ(parse_fault("lost:gpu=0,at=1500ms")->from.value(), 1.5);
  EXPECT_DOUBLE_EQ(parse_fault("slow:call=*,delay=50ms")->delay.value(), 0.05);
  EXPECT_EQ(parse_fault("driver:value=535.54")->text, "535.54");
  EXPECT_EQ(parse_fault("no-permission")->device, -1);
}

TEST(Fault, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "melt", "lost", "lost:gpu=0", "lost:at", "lost:at=soon",
                           "lost:foo=1", "cap:value=much", "stride:gpu=x,value=24", "return:call=x",
                           "lost:at=-1s", "freeze:from=0s,until=-1s", "slow:call=*,delay=-5ms"}) {
    EXPECT_FALSE(parse_fault(text)) << text;
  }
}

}  // namespace
}  // namespace perjoule::twin

#include "base/clock.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {
using namespace literals;

TEST(VirtualClock, SleepingAdvancesAtOnceAndNeverBack) {
  VirtualClock clock(Instant{5});
  clock.sleep_until(Instant{1'000'000'005});
  EXPECT_DOUBLE_EQ((clock.now() - Instant{5}).value(), 1.0);
  clock.sleep_until(Instant{7});
  EXPECT_EQ(clock.now().ns, 1'000'000'005);
}

TEST(VirtualClock, SuspendSeparatesBootFromMonotonicTime) {
  VirtualClock clock;
  clock.suspend(30.0_s);
  EXPECT_EQ(clock.now().ns, 0);
  EXPECT_DOUBLE_EQ((clock.since_boot() - clock.now()).value(), 30);
}

TEST(RealClock, DoesNotGoBack) {
  RealClock clock;
  const Instant first = clock.now();
  clock.sleep_until(first + 0.001_s);
  EXPECT_GE((clock.now() - first).value(), 0.001);
}
}  // namespace
}  // namespace perjoule

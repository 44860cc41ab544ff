#include "twin/wake_timer.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace perjoule::twin {
namespace {

TEST(WakeTimer, CallsInTheOrderOfTimeNotOfAsking) {
  RealClock clock;
  std::vector<int> called;
  std::promise<void> last;
  WakeTimer timer;
  const Instant now = clock.now();
  timer.call_at(now + Seconds(0.04), [&] {
    called.push_back(2);
    last.set_value();
  });
  timer.call_at(now + Seconds(0.02), [&] { called.push_back(1); });
  timer.call_at(now + Seconds(-5), [&] { called.push_back(0); });
  last.get_future().wait();
  EXPECT_EQ(called, (std::vector<int>{0, 1, 2}));
  EXPECT_GE((clock.now() - now).value(), 0.04);
}

TEST(WakeTimer, EndsWithoutCallingWhatIsNotDue) {
  bool called = false;
  {
    WakeTimer timer;
    timer.call_at(RealClock().now() + Seconds(3600), [&] { called = true; });
  }
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace perjoule::twin

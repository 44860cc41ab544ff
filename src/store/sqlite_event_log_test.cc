#include "store/sqlite_event_log.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

namespace perjoule {
namespace {

class EventLogTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "log-" +
            testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
    TearDown();
  }
  void TearDown() override {
    for (const char* end : {"", "-wal", "-shm"}) std::remove((path_ + end).c_str());
  }
  std::unique_ptr<EventLog> open() {
    auto log = SqliteEventLog::open(path_);
    EXPECT_TRUE(log) << log.error().text();
    return std::move(*log);
  }
  std::string path_;
};

EventLog::Change append(std::int64_t value) {
  return [value](const EventLog::Entries& /*so_far*/) -> Result<EventLog::Entries> {
    return EventLog::Entries{Json(value)};
  };
}

TEST_F(EventLogTest, KeepsTheOrderAndTellsLogsApart) {
  const auto log = open();
  ASSERT_TRUE(log->update("job/a", append(1)));
  ASSERT_TRUE(log->update("job/b", append(7)));
  ASSERT_TRUE(log->update("job/a", append(2)));
  EXPECT_EQ(*open()->read("job/a"),
            (EventLog::Entries{Json(std::int64_t{1}), Json(std::int64_t{2})}));
  EXPECT_EQ(*log->names("job/"), (std::vector<std::string>{"job/a", "job/b"}));
  EXPECT_TRUE(log->read("job/c")->empty());
  ASSERT_TRUE(log->erase("job/a"));
  EXPECT_TRUE(log->read("job/a")->empty());
}

TEST_F(EventLogTest, AnErrorAppendsNothing) {
  const auto log = open();
  const Outcome refused = log->update(
      "a",
      [](const EventLog::Entries&) -> Result<EventLog::Entries> { return Error::conflict("no"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(log->read("a")->empty());
  EXPECT_TRUE(log->update("a", append(1)));  // the transaction is over
}

TEST_F(EventLogTest, TwoWritersNeverInterleaveAnUpdate) {
  constexpr int kEach = 50;
  const auto write = [this] {
    const auto log = open();
    for (int i = 0; i < kEach; ++i) {
      const Outcome done =
          log->update("a", [](const EventLog::Entries& so_far) -> Result<EventLog::Entries> {
            return EventLog::Entries{Json(static_cast<std::int64_t>(so_far.size()))};
          });
      EXPECT_TRUE(done) << done.error().text();
    }
  };
  std::thread other(write);
  write();
  other.join();
  const auto entries = open()->read("a");
  ASSERT_EQ(entries->size(), 2U * kEach);
  for (std::size_t i = 0; i < entries->size(); ++i)
    EXPECT_EQ((*entries)[i].as_integer(), static_cast<std::int64_t>(i));
}

}  // namespace
}  // namespace perjoule

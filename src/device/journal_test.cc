#include "device/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "device/file_knob.h"

namespace perjoule {
namespace {

class FileDevice final : public Device {
 public:
  explicit FileDevice(const std::string& path) : knob_(path) { info_.id = "gpu:a"; }
  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override { return {}; }
  std::vector<Knob*> knobs() override { return {&knob_}; }

 private:
  DeviceInfo info_;
  FileKnob knob_;
};

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/perjoule-journal-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    value_ = folder_ + "/value";
    ASSERT_TRUE(write_file_atomically(value_, "300 W"));
    machine_.devices.push_back(std::make_unique<FileDevice>(value_));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Result<KnobJournal> open() { return KnobJournal::open(folder_ + "/knobs", machine_); }
  std::string value() { return *read_attribute(value_); }
  Knob& knob() { return *machine_.knobs().front(); }

  std::string folder_;
  std::string value_;
  Inventory machine_;
};

TEST_F(JournalTest, TurningTwiceRestoresWhatWasFoundFirst) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    EXPECT_EQ(*journal->turn(knob(), "200 W"), "200 W");
    EXPECT_EQ(*journal->turn(knob(), "150 W"), "150 W");
    EXPECT_EQ(value(), "150 W");
  }
  EXPECT_EQ(value(), "300 W");
  EXPECT_TRUE(list_folder(folder_ + "/knobs").empty());
}

TEST_F(JournalTest, AKilledProcessIsPutRightByTheNextStart) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto journal = open();
    (void)journal->turn(knob(), "120 W");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(value(), "120 W");
  auto journal = open();
  ASSERT_TRUE(journal);
  EXPECT_EQ(value(), "300 W");
  ASSERT_EQ(journal->replayed().size(), 1U);
  EXPECT_NE(journal->replayed()[0].find("put back to 300 W"), std::string::npos);
}

TEST_F(JournalTest, AKilledProcessThatNobodyHasReapedIsDeadToo) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto journal = open();
    (void)journal->turn(knob(), "120 W");
    ::kill(::getpid(), SIGKILL);
  }
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  ASSERT_TRUE(open());
  EXPECT_EQ(value(), "300 W");
  ::waitpid(child, nullptr, 0);
}

TEST_F(JournalTest, AKnobHeldByALivingProcessIsRefused) {
  auto first = open();
  ASSERT_TRUE(first->turn(knob(), "200 W"));
  const pid_t child = ::fork();
  if (child == 0) {
    auto second = open();
    const auto refused = second->turn(knob(), "150 W");
    ::_exit(!refused && refused.error().code == ErrorCode::kConflict ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(value(), "200 W");
}

TEST_F(JournalTest, ARefusedValueLeavesNoTrace) {
  auto journal = open();
  const auto refused = journal->turn(knob(), "900 W");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(refused.error().message, "power limit of gpu:a: 900 W is outside 100 to 300 W");
  EXPECT_TRUE(list_folder(folder_ + "/knobs").empty());
}

TEST_F(JournalTest, NothingLeftBehindCostsOneLookAndMakesNoFolder) {
  const Replay replay = replay_dead(folder_ + "/knobs", machine_);
  EXPECT_TRUE(replay.put_back.empty());
  EXPECT_TRUE(replay.problems.empty());
  EXPECT_FALSE(path_exists(folder_ + "/knobs"));
}

TEST_F(JournalTest, WhatTheDeadProcessFoundIsTheOriginalEvenWhereItCouldNotBePutBack) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto journal = open();
    (void)journal->turn(knob(), "120 W");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  {
    Inventory nothing;  // its device is away while the journal is opened
    auto journal = KnobJournal::open(folder_ + "/knobs", nothing);
    ASSERT_TRUE(journal->turn(knob(), "200 W"));
  }
  EXPECT_EQ(value(), "300 W");
}

/// Entries of a folder that hosts or containers share.
class SharedJournal : public JournalTest {
 protected:
  void leave(const std::string& host, const std::string& pid_namespace) {
    ProcessIdentity owner = ProcessIdentity::current();
    Json json = Json::object();
    json["knob"] = "gpu:a/power-limit";
    json["original"] = "250 W";
    json["pid"] = 999'999'999;
    json["start_ticks"] = 1;
    json["boot_id"] = host.empty() ? owner.boot_id : "another";
    json["host"] = host.empty() ? owner.host : host;
    json["pid_namespace"] = pid_namespace.empty() ? owner.pid_namespace : pid_namespace;
    ASSERT_TRUE(make_folders(folder_ + "/knobs"));
    ASSERT_TRUE(write_file_atomically(folder_ + "/knobs/gpu:a@power-limit.json", json.dump()));
  }
  void expect_untouched() {
    EXPECT_TRUE(replay_dead(folder_ + "/knobs", machine_).put_back.empty());
    EXPECT_EQ(value(), "300 W");
    EXPECT_TRUE(dead_entries(folder_ + "/knobs").at(0).elsewhere);
    auto journal = open();
    EXPECT_EQ(journal->turn(knob(), "200 W").error().code, ErrorCode::kConflict);
    EXPECT_EQ(list_folder(folder_ + "/knobs").size(), 1U);
  }
};

TEST_F(SharedJournal, AnotherHostsProcessMayBeAlive) {
  leave("another-host", "");
  expect_untouched();
}
TEST_F(SharedJournal, AnotherContainersProcessMayBeAlive) {
  leave("", "pid:[1]");
  expect_untouched();
}
TEST_F(SharedJournal, OurOwnDeadIsReplayed) {
  leave("", "");
  EXPECT_EQ(replay_dead(folder_ + "/knobs", machine_).put_back.size(), 1U);
  EXPECT_EQ(value(), "250 W");
}

TEST_F(JournalTest, WhatMayNotBeSetIsAProblemWithTheValueAndStays) {
  ASSERT_TRUE(make_folders(folder_ + "/knobs"));
  const ProcessIdentity us = ProcessIdentity::current();
  ASSERT_TRUE(write_file_atomically(
      folder_ + "/knobs/gpu:a@power-limit.json",
      R"({"knob":"gpu:a/power-limit","original":"900 W","pid":999999999,"start_ticks":1,"boot_id":")" +
          us.boot_id + "\"}"));
  const Replay replay = replay_dead(folder_ + "/knobs", machine_);
  ASSERT_EQ(replay.problems.size(), 1U);
  EXPECT_EQ(replay.problems[0].subject, "gpu:a/power-limit");
  EXPECT_EQ(replay.problems[0].error.message.rfind("not put back to 900 W, as process", 0), 0U);
  EXPECT_EQ(list_folder(folder_ + "/knobs").size(), 1U);
}

TEST_F(JournalTest, AnEntryOfAnEarlierBootIsVoid) {
  ASSERT_TRUE(make_folders(folder_ + "/knobs"));
  ASSERT_TRUE(write_file_atomically(
      folder_ + "/knobs/gpu:a@power-limit.json",
      R"({"knob":"gpu:a/power-limit","original":"250 W","pid":1,"start_ticks":1,"boot_id":"other"})"));
  ASSERT_TRUE(open());
  EXPECT_EQ(value(), "300 W");
  EXPECT_TRUE(list_folder(folder_ + "/knobs").empty());
}

TEST_F(JournalTest, ADamagedEntryIsAProblemNotACrash) {
  ASSERT_TRUE(make_folders(folder_ + "/knobs"));
  ASSERT_TRUE(write_file_atomically(folder_ + "/knobs/x.json", "{"));
  auto journal = open();
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->problems().size(), 1U);
}
}  // namespace
}  // namespace perjoule

#include "server/zeusd/process_leases.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace perjoule {
namespace {

class FakeHand final : public KnobHand {
 public:
  Result<std::string> turn(const std::string& knob, const std::string& value) override {
    if (value == "bad") return Error::out_of_range("outside");
    turned[knob] = value;
    return value;
  }
  Outcome put_back(const std::string& knob) override {
    if (is_stuck) return Error::unavailable("the driver does not answer");
    turned.erase(knob);
    return {};
  }
  std::map<std::string, std::string> turned;
  bool is_stuck = false;
};

/// A process that does nothing, until it is killed.
class OtherProcess {
 public:
  OtherProcess() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~OtherProcess() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  ProcessLeases::Holder holder() const {
    return {ProcessIdentity::of(pid_), "user:7's process " + std::to_string(pid_)};
  }

 private:
  pid_t pid_;
};

class ProcessLeasesTest : public testing::Test {
 protected:
  const ProcessLeases::Holder me_{ProcessIdentity::of(::getpid()), "me"};
  VirtualClock clock_{Instant{1'000'000'000}};
  FakeHand hand_;
  LeaseBook book_{hand_, clock_, false};
  ProcessLeases held_{book_, clock_, false};
};

TEST_F(ProcessLeasesTest, AKnobIsHeldForAsLongAsItsProcessLives) {
  OtherProcess other;
  ASSERT_TRUE(held_.hold("a", "300 W", other.holder()));
  ASSERT_TRUE(held_.hold("b", "200 W", me_));
  for (int second = 0; second < 300; ++second) {
    clock_.advance(Seconds(1));
    held_.look();
    book_.end_overdue();
  }
  EXPECT_EQ(hand_.turned.size(), 2U);
  other.kill();
  held_.look();
  EXPECT_EQ(hand_.turned.count("a"), 0U);
  EXPECT_EQ(hand_.turned.at("b"), "200 W");
  EXPECT_EQ(held_.held(), 1U);
}

TEST_F(ProcessLeasesTest, AnotherProcessIsRefusedUntilItIsFree) {
  OtherProcess other;
  ASSERT_TRUE(held_.hold("a", "300 W", other.holder()));
  const auto refused = held_.hold("a", "200 W", me_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_NE(refused.error().message.find("held by user:7's process"), std::string::npos);
  EXPECT_EQ(held_.let_go("a", me_).error().code, ErrorCode::kConflict);
  EXPECT_EQ(hand_.turned.at("a"), "300 W");
  other.kill();
  // Not looked at in between: the next one that wants it finds it free.
  ASSERT_TRUE(held_.hold("a", "200 W", me_));
  EXPECT_EQ(hand_.turned.at("a"), "200 W");
}

TEST_F(ProcessLeasesTest, ItsHolderChangesItAndLetsGo) {
  ASSERT_TRUE(held_.hold("a", "300 W", me_));
  ASSERT_TRUE(held_.hold("a", "200 W", me_));
  EXPECT_EQ(hand_.turned.at("a"), "200 W");
  EXPECT_EQ(held_.hold("a", "bad", me_).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(hand_.turned.at("a"), "200 W");
  EXPECT_TRUE(held_.holds("a", me_));
  ASSERT_TRUE(held_.let_go("a", me_));
  EXPECT_TRUE(hand_.turned.empty());
  EXPECT_FALSE(held_.holds("a", me_));
  EXPECT_TRUE(held_.let_go("a", me_)) << "nothing is left to do";
}

TEST_F(ProcessLeasesTest, WhatAnAdministratorGaveBackIsTakenAnew) {
  ASSERT_TRUE(held_.hold("a", "300 W", me_));
  ASSERT_TRUE(book_.give_back(book_.all()[0].id, "root", true));
  ASSERT_TRUE(held_.hold("a", "250 W", me_));
  EXPECT_EQ(hand_.turned.at("a"), "250 W");
  ASSERT_TRUE(book_.give_back(book_.all()[0].id, "root", true));
  held_.look();
  EXPECT_EQ(held_.held(), 0U);
}

TEST_F(ProcessLeasesTest, AKnobThatOthersLeasedIsRefused) {
  ASSERT_TRUE(book_.take({.knob = "a", .value = "1 W", .length = Seconds(60), .owner = "token:x"}));
  const auto refused = held_.hold("a", "200 W", me_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("leased to token:x"), std::string::npos);
}

TEST_F(ProcessLeasesTest, AProcessThatCannotBeSeenHoldsNothing) {
  for (const std::int64_t pid : {0, -1, 99'999'999}) {
    EXPECT_EQ(held_.hold("a", "200 W", {ProcessIdentity::of(pid), "nobody"}).error().code,
              ErrorCode::kPermissionDenied);
  }
  OtherProcess other;
  ProcessLeases::Holder later = other.holder();
  ++later.process.start_ticks;  // the number is of another process by now
  EXPECT_FALSE(held_.hold("a", "200 W", later));
  EXPECT_TRUE(hand_.turned.empty());
}

TEST_F(ProcessLeasesTest, AKnobThatDoesNotGoBackIsTriedByTheBook) {
  OtherProcess other;
  ASSERT_TRUE(held_.hold("a", "300 W", other.holder()));
  hand_.is_stuck = true;
  other.kill();
  held_.look();
  EXPECT_EQ(held_.held(), 0U);
  EXPECT_EQ(held_.hold("a", "200 W", me_).error().code, ErrorCode::kConflict);
  hand_.is_stuck = false;
  book_.end_overdue();
  EXPECT_TRUE(hand_.turned.empty());
  EXPECT_TRUE(held_.hold("a", "200 W", me_));
}

}  // namespace
}  // namespace perjoule

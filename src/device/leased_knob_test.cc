// A driver that says no, and a daemon that is a script.
#include "device/leased_knob.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "device/plain_device.h"
#include "net/test_http_server.h"

namespace perjoule {
namespace {

class GuardedKnob final : public Knob {
 public:
  GuardedKnob() {
    info_.id = "gpu:a/power-limit";
    info_.device = "gpu:a";
    info_.name = "power limit";
    info_.unit = "W";
    info_.minimum = 100;
    info_.maximum = 700;
  }
  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override { return value; }
  Outcome set(const std::string& wanted) override {
    if (!may) return Error::permission_denied("the driver asks for root");
    value = wanted;
    return {};
  }
  std::string value = "700 W";
  bool may = false;

 private:
  KnobInfo info_;
};

class LeasedKnobTest : public testing::Test {
 protected:
  void SetUp() override {
    auto knob = std::make_unique<GuardedKnob>();
    knob_ = knob.get();
    auto device = std::make_unique<PlainDevice>(DeviceInfo{});
    device->add(std::move(knob));
    machine_.devices.push_back(std::move(device));
    lease_forbidden_knobs(machine_, [this]() -> Result<std::unique_ptr<ApiClient>> {
      if (!there_is_a_daemon_) return Error::not_found("no daemon");
      return ApiClient::connect(clock_, {.address = server_.url()});
    });
  }
  Knob& leased() { return *machine_.knobs()[0]; }
  /// What the daemon was asked: "POST /api/v1/leases {...}".
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  void answer(TestPeer& peer) {
    while (const auto request = peer.read_request()) {
      std::string status = "200 OK";
      std::string body = R"({"id":"lease-1","in_force":"300 W"})";
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request->substr(0, request->find(" HTTP")) + " " +
                         request->substr(request->find("\r\n\r\n") + 4));
        if (!answers_.empty()) {
          status = answers_.begin()->first;
          body = answers_.begin()->second;
          answers_.erase(answers_.begin());
        }
      }
      peer.send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    }
  }

  RealClock clock_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::vector<std::pair<std::string, std::string>> answers_;
  bool there_is_a_daemon_ = true;
  TestHttpServer server_{[this](TestPeer& peer) { answer(peer); }};
  GuardedKnob* knob_ = nullptr;
  Inventory machine_;
};

TEST_F(LeasedKnobTest, WhoMayTurnsItHimself) {
  knob_->may = true;
  ASSERT_TRUE(leased().set("300 W"));
  EXPECT_EQ(knob_->value, "300 W");
  EXPECT_TRUE(asked().empty());
}

TEST_F(LeasedKnobTest, TheDriverSaysWhichWordsItTakes) {
  knob_->may = true;
  EXPECT_TRUE(leased().set("unlocked")) << "as clocks are found";
  EXPECT_EQ(knob_->value, "unlocked");
}

TEST_F(LeasedKnobTest, WhoMayNotHasItLeasedChangedAndGivenBack) {
  ASSERT_TRUE(leased().set("300 W"));
  ASSERT_TRUE(leased().set("250 W"));
  ASSERT_TRUE(leased().set("700 W")) << "as it was found";
  const auto all = asked();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(
      all[0].rfind("POST /api/v1/leases {\"knob\":\"gpu:a/power-limit\",\"value\":\"300 W\"", 0),
      0U)
      << all[0];
  EXPECT_EQ(all[1].rfind("PUT /api/v1/leases/lease-1 {\"value\":\"250 W\"", 0), 0U) << all[1];
  EXPECT_EQ(all[2], "DELETE /api/v1/leases/lease-1 ");
}

TEST_F(LeasedKnobTest, WhatIsHeldAtTheEndIsGivenBack) {
  ASSERT_TRUE(leased().set("300 W"));
  machine_.devices.clear();
  EXPECT_EQ(asked().back(), "DELETE /api/v1/leases/lease-1 ");
}

TEST_F(LeasedKnobTest, TheDaemonsRefusalIsTold) {
  answers_ = {{"409 Conflict",
               R"({"error":{"code":"conflict","message":"leased to another","remedy":"wait"}})"}};
  const auto set = leased().set("300 W");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kConflict);
  EXPECT_EQ(set.error().text(), "through the daemon: leased to another; wait");
}

TEST_F(LeasedKnobTest, ALeaseThatHasEndedIsTakenAnew) {
  ASSERT_TRUE(leased().set("300 W"));
  {
    const std::lock_guard lock(mutex_);
    answers_ = {
        {"404 Not Found", R"({"error":{"code":"not_found","message":"no lease","remedy":""}})"}};
  }
  ASSERT_TRUE(leased().set("250 W"));
  EXPECT_EQ(asked().back().rfind("POST /api/v1/leases ", 0), 0U);
}

TEST_F(LeasedKnobTest, WithoutADaemonTheDriversWordStands) {
  there_is_a_daemon_ = false;
  const auto set = leased().set("300 W");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(set.error().message, "the driver asks for root");
}

TEST_F(LeasedKnobTest, WhatIsSoAlreadyIsNotLeased) {
  EXPECT_TRUE(leased().set("700 W"));
  EXPECT_TRUE(asked().empty());
}

}  // namespace
}  // namespace perjoule

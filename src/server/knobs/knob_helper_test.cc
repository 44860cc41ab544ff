// The helper as a process: what it turns is a file here, so that both sides see it.
#include "server/knobs/knob_helper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/file.h"
#include "device/file_knob.h"
#include "device/plain_device.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

class KnobHelperTest : public testing::Test {
 protected:
  void SetUp() override {
    tree_.write("knob", "500 W");
    auto helper = KnobHelper::start([this] { return machine(); }, tree_.path() + "/journal");
    ASSERT_TRUE(helper) << helper.error().text();
    helper_ = std::move(*helper);
  }
  Result<Inventory> machine() const {
    Inventory machine;
    auto device = std::make_unique<PlainDevice>(DeviceInfo{});
    device->add(std::make_unique<FileKnob>(tree_.path() + "/knob", 700));
    machine.devices.push_back(std::move(device));
    return machine;
  }
  std::string value() const { return read_attribute(tree_.path() + "/knob").value_or("?"); }
  std::size_t journalled() const { return list_folder(tree_.path() + "/journal").size(); }

  TempTree tree_;
  std::unique_ptr<KnobHelper> helper_;
};

TEST_F(KnobHelperTest, TurnsAndPutsBack) {
  const auto turned = helper_->turn("gpu:a/power-limit", "300 W");
  ASSERT_TRUE(turned) << turned.error().text();
  EXPECT_EQ(*turned, "300 W");
  EXPECT_EQ(value(), "300 W");
  EXPECT_EQ(journalled(), 1U);
  ASSERT_TRUE(helper_->turn("gpu:a/power-limit", "200 W"));
  ASSERT_TRUE(helper_->put_back("gpu:a/power-limit"));
  EXPECT_EQ(value(), "500 W");
  EXPECT_EQ(journalled(), 0U);
  EXPECT_TRUE(helper_->put_back("gpu:a/power-limit")) << "nothing to be done";
}

TEST_F(KnobHelperTest, RefusesWithTheReason) {
  EXPECT_EQ(helper_->turn("gpu:a/power-limit", "900 W").error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(helper_->turn("gpu:b/power-limit", "300 W").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(helper_->turn("gpu:a/power-limit", "\n{}\"").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(value(), "500 W");
  EXPECT_TRUE(helper_->turn("gpu:a/power-limit", "300 W")) << "and goes on";
}

TEST_F(KnobHelperTest, PutsEverythingBackWhenTheDaemonEnds) {
  ASSERT_TRUE(helper_->turn("gpu:a/power-limit", "300 W"));
  helper_.reset();
  EXPECT_EQ(value(), "500 W");
  EXPECT_EQ(journalled(), 0U);
}

TEST_F(KnobHelperTest, OneThatIsKilledIsTold) {
  ASSERT_TRUE(helper_->turn("gpu:a/power-limit", "300 W"));
  ASSERT_EQ(::kill(helper_->process(), SIGKILL), 0);
  const auto after = helper_->turn("gpu:a/power-limit", "200 W");
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(helper_->lives());
  helper_.reset();
  EXPECT_EQ(value(), "300 W") << "nobody was left to put it back ...";
  const auto found = machine();
  EXPECT_EQ(replay_dead(tree_.path() + "/journal", *found).put_back.size(), 1U);
  EXPECT_EQ(value(), "500 W") << "... but the next start";
}

TEST_F(KnobHelperTest, ASignalOfTheTerminalIsTheDaemonsToTake) {
  ASSERT_TRUE(helper_->turn("gpu:a/power-limit", "300 W"));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::kill(helper_->process(), signal);
  EXPECT_TRUE(helper_->turn("gpu:a/power-limit", "250 W"));
}

TEST(KnobHelperStartTest, AMachineThatIsNotFoundIsTold) {
  const auto helper = KnobHelper::start(
      []() -> Result<Inventory> { return Error::not_supported("no such machine", "buy one"); },
      "/nowhere");
  ASSERT_FALSE(helper);
  EXPECT_EQ(helper.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(helper.error().remedy, "buy one");
}

}  // namespace
}  // namespace perjoule

#include "fleet/hands/fleet_hands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/file.h"
#include "device/plain_device.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class FakeClock final : public Knob {
 public:
  explicit FakeClock(const std::string& device) {
    info_.id = device + "/clock";
    info_.device = device;
    info_.name = "clock";
    info_.unit = "MHz";
    info_.minimum = 200;
    info_.maximum = 2000;
  }
  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override { return value; }
  Result<std::string> enforced() override { return cap.empty() ? value : cap; }
  Outcome set(const std::string& wanted) override {
    if (refuses) return Error::permission_denied("no right to lock clocks");
    if (wanted != "unlocked") {
      if (const auto number = knob_number(info_, wanted); !number) return fail(number);
    }
    value = wanted;
    return {};
  }

  std::string value = "unlocked";
  std::string cap;
  bool refuses = false;

 private:
  KnobInfo info_;
};

class FleetHandsTest : public ::testing::Test {
 protected:
  FleetHandsTest() {
    for (int gpu = 0; gpu < 2; ++gpu) {
      DeviceInfo info;
      info.kind = DeviceKind::kGpu;
      info.index = gpu;
      info.uuid = "GPU-" + std::to_string(gpu) + "0000000";
      info.id = "gpu:" + info.uuid;
      auto device = std::make_unique<PlainDevice>(info);
      auto knob = std::make_unique<FakeClock>(info.id);
      knobs_.push_back(knob.get());
      device->add(std::move(knob));
      machine_.devices.push_back(std::move(device));
    }
    server_.name = "n";
    server_.pool_name = "mixed";
    server_.instances = {{"a", {"0"}, 1, 1, 0}, {"both", {"0", "GPU-1"}, 2, 2, 1}};
    server_.division = {0};
  }

  Result<std::unique_ptr<KnobHands>> make(const ServerCommands& commands = {}) {
    return KnobHands::make(machine_, tree_ / "knobs", {server_}, commands, Seconds(10), true,
                           clock_);
  }

  TempTree tree_;
  RealClock clock_;
  Inventory machine_;
  std::vector<FakeClock*> knobs_;
  FleetServer server_;
};

TEST_F(FleetHandsTest, SetTheClocksOfAnInstanceAndPutThemBack) {
  const auto hands = make();
  ASSERT_TRUE(hands) << hands.error().text();
  EXPECT_EQ(*(*hands)->set_clock(0, 1, 1200), "1200 MHz");
  EXPECT_EQ(knobs_[0]->value, "1200 MHz");
  EXPECT_EQ(knobs_[1]->value, "1200 MHz");
  EXPECT_THAT(list_folder(tree_ / "knobs"), SizeIs(testing::Ge(2)));
  knobs_[1]->cap = "900 MHz";
  EXPECT_EQ(*(*hands)->set_clock(0, 1, 1000), "1000 MHz, 900 MHz");  // read back
  EXPECT_TRUE((*hands)->restore_clocks());
  EXPECT_EQ(knobs_[0]->value, "unlocked");
  EXPECT_EQ(knobs_[1]->value, "unlocked");
}

TEST_F(FleetHandsTest, PutClocksBackWhenTheyGo) {
  {
    const auto hands = make();
    ASSERT_TRUE((*hands)->set_clock(0, 0, 1200));
  }
  EXPECT_EQ(knobs_[0]->value, "unlocked");
}

TEST_F(FleetHandsTest, TellWhatAKnobRefuses) {
  const auto hands = make();
  EXPECT_EQ((*hands)->set_clock(0, 0, 5000).error().code, ErrorCode::kOutOfRange);
  knobs_[0]->refuses = true;
  EXPECT_EQ((*hands)->set_clock(0, 0, 1200).error().code, ErrorCode::kPermissionDenied);
  knobs_[0]->refuses = false;
  EXPECT_TRUE((*hands)->set_clock(0, 0, 1200));
}

TEST_F(FleetHandsTest, RefuseGpusThatAreNotHere) {
  server_.instances[0].gpus = {"7"};
  auto hands = make();
  ASSERT_FALSE(hands);
  EXPECT_THAT(hands.error().message, HasSubstr("instance a"));
  server_.instances[0].gpus = {"0"};
  DeviceInfo plain;
  plain.kind = DeviceKind::kGpu;
  plain.index = 2;
  plain.uuid = "GPU-20000000";
  plain.id = "gpu:" + plain.uuid;
  machine_.devices.push_back(std::make_unique<PlainDevice>(plain));
  server_.instances[0].gpus = {"2"};
  EXPECT_EQ(make().error().code, ErrorCode::kNotSupported);
}

TEST_F(FleetHandsTest, RefuseAGpuOfTwoServers) {
  FleetServer other = server_;
  other.name = "m";
  const auto knobs = clock_knobs_of(machine_, {server_, other});
  ASSERT_FALSE(knobs);
  EXPECT_EQ(knobs.error().code, ErrorCode::kConflict);
  EXPECT_THAT(knobs.error().message, HasSubstr("n and m"));
}

TEST_F(FleetHandsTest, RunCommandsBesideTheRest) {
  ServerCommands commands;
  commands.start = "echo {instance} >> " + tree_ / "started";
  commands.stop = "exit 4";
  const auto hands = make(commands);
  ASSERT_TRUE(hands);
  ASSERT_TRUE((*hands)->begin(ServerDeed::kStart, 0, {}, {0, 1}));
  ASSERT_TRUE((*hands)->begin(ServerDeed::kStop, 0, {0}, {0}));
  std::vector<EndedDeed> ended;
  while (ended.size() < 2) {
    for (EndedDeed& one : (*hands)->ended()) ended.push_back(std::move(one));
    clock_.sleep_until(clock_.now() + Seconds(0.002));
  }
  EXPECT_EQ(*read_file(tree_ / "started"), "a\nboth\n");
  for (const EndedDeed& one : ended)
    EXPECT_EQ(one.outcome.has_value(), one.deed == ServerDeed::kStart);
  EXPECT_TRUE((*hands)->ended().empty());
}

TEST_F(FleetHandsTest, OnlySayWhatTheyWouldDo) {
  DryHands hands;
  EXPECT_FALSE(hands.acts());
  EXPECT_EQ(*hands.set_clock(0, 0, 1200), "1200 MHz");
  EXPECT_EQ(knobs_[0]->value, "unlocked");
  EXPECT_TRUE(hands.begin(ServerDeed::kStop, 0, {}, {}));
  EXPECT_TRUE(hands.ended().empty());
  EXPECT_TRUE(hands.restore_clocks());
}

}  // namespace
}  // namespace perjoule

#include "device/battery.h"

#include <gtest/gtest.h>

#include "device/temp_tree.h"

namespace perjoule {
namespace {

class BatteryTest : public testing::Test {
 protected:
  BatteryTest() : roots_(tree_.roots()) {
    set("type", "Battery");
    set("status", "Discharging");
    set("voltage_now", "12000000");
    set("current_now", "-1500000");
  }
  void set(const std::string& file, const std::string& text) const {
    tree_.write(kFolder + file, text);
  }
  const std::string kFolder = "sys/class/power_supply/BAT0/";
  TempTree tree_;
  Roots roots_;
};

TEST_F(BatteryTest, PowerIsToldOrIsVoltageTimesCurrentOfEitherSign) {
  Discovered found = discover_batteries(roots_);
  Source& product = *found.devices.at(0)->sources().at(0);
  EXPECT_EQ(product.info().boundary, Boundary::kNode);
  EXPECT_NE(product.info().overlaps, "");
  EXPECT_EQ(product.read().micro, 18'000'000U);
  set("power_now", "-17500000");
  found = discover_batteries(roots_);
  EXPECT_EQ(found.devices.at(0)->sources().at(0)->read().micro, 17'500'000U);
}

TEST_F(BatteryTest, OnMainsItTellsNothing) {
  const Discovered found = discover_batteries(roots_);
  Source& source = *found.devices.at(0)->sources().at(0);
  for (const char* status : {"Charging", "Full", "Not charging", "Unknown"}) {
    set("status", status);
    EXPECT_EQ(source.read().code, ErrorCode::kUnavailable) << status;
    const Discovered now = discover_batteries(roots_);
    EXPECT_TRUE(now.devices.at(0)->sources().empty()) << status;
    EXPECT_NE(now.devices[0]->info().note, "");
  }
}

TEST_F(BatteryTest, MainsAdaptersAndMiceAreNoBatteriesOfTheMachine) {
  set("scope", "Device");
  tree_.write("sys/class/power_supply/AC/type", "Mains");
  EXPECT_TRUE(discover_batteries(roots_).devices.empty());
}

TEST_F(BatteryTest, PermissionDeniedAndVanishing) {
  const Discovered before = discover_batteries(roots_);
  Source& source = *before.devices.at(0)->sources().at(0);
  tree_.write_bytes(kFolder + "voltage_now", "");
  EXPECT_EQ(source.read().code, ErrorCode::kDataLoss);
  tree_.deny(kFolder + "current_now");
  const OrdinaryUser nobody;
  const Discovered found = discover_batteries(roots_);
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].error.code, ErrorCode::kPermissionDenied);
  EXPECT_TRUE(found.devices.at(0)->sources().empty());
}
}  // namespace
}  // namespace perjoule

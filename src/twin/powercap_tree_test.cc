#include "twin/powercap_tree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace perjoule::twin {
namespace {

class PowercapTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "powercap-" + std::to_string(getpid());
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  double read(const std::string& zone) {
    const auto text = read_attribute(root_ + "/class/powercap/" + zone + "/energy_uj");
    EXPECT_TRUE(text) << text.error().text();
    return parse_number(*text).value_or(-1);
  }
  std::string root_;
};

TEST_F(PowercapTreeTest, NestedZonesAreFoundThroughFlatLinks) {
  ASSERT_TRUE(PowercapTree::create(root_));
  const std::string flat = root_ + "/class/powercap/";
  EXPECT_EQ(*read_attribute(flat + "intel-rapl:0/name"), "package-0");
  EXPECT_EQ(*read_attribute(flat + "intel-rapl:0:0/name"), "core");
  EXPECT_EQ(*read_attribute(flat + "intel-rapl:0/intel-rapl:0:1/name"), "dram");
  EXPECT_EQ(*read_attribute(flat + "intel-rapl:0/constraint_0_name"), "long_term");
}

TEST_F(PowercapTreeTest, EnergyFollowsTimeAndWork) {
  auto tree = PowercapTree::create(root_);
  ASSERT_TRUE(tree);
  ASSERT_TRUE(tree->add(Seconds(10), Seconds(5)));
  EXPECT_EQ(read("intel-rapl:0"), 430e6);
  EXPECT_EQ(read("intel-rapl:0:0"), 24e6);
  EXPECT_EQ(read("intel-rapl:0:1"), 33.5e6);
}

TEST_F(PowercapTreeTest, CountersWrapAtTheirOwnRanges) {
  auto tree = PowercapTree::create(root_);
  ASSERT_TRUE(tree);
  ASSERT_TRUE(tree->set({.package_uj = PowercapTree::kPackageRange - 1'000'000,
                         .dram_uj = PowercapTree::kDramRange - 1'000'000}));
  ASSERT_TRUE(tree->add(Seconds(1), Seconds(0)));
  EXPECT_EQ(read("intel-rapl:0"), 39e6);
  EXPECT_EQ(read("intel-rapl:0:1"), 2e6);
}

TEST_F(PowercapTreeTest, MachineTimeGrows) {
  const auto busy = busy_core_seconds();
  ASSERT_TRUE(busy);
  EXPECT_GT(busy->value(), 0);
}

}  // namespace
}  // namespace perjoule::twin

#include "device/ipmi_dcmi.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/temp_tree.h"

namespace perjoule {
namespace {

/// 320 W now, 100 to 500 W and 300 W mean over 1,131,466 s, as one machine said.
std::vector<unsigned char> answer() {
  return {0x00, 0xDC, 0x40, 0x01, 0x64, 0x00, 0xF4, 0x01, 0x2C, 0x01,
          0,    0,    0,    0,    0x10, 0xC3, 0x70, 0x43, 0x40};
}

/// A controller that answers what it is told to.
class FakeLine final : public IpmiLine {
 public:
  struct Script {
    ErrorCode code = ErrorCode::kOk;
    std::vector<unsigned char> answer;
    std::vector<unsigned char> asked;
  };
  explicit FakeLine(Script& script) : script_(script) {}
  ErrorCode ask(unsigned char net_function, unsigned char command,
                std::span<const unsigned char> request, std::span<unsigned char> out,
                std::size_t& got) noexcept override {
    script_.asked = {net_function, command};
    script_.asked.insert(script_.asked.end(), request.begin(), request.end());
    got = std::min(out.size(), script_.answer.size());
    std::copy_n(script_.answer.begin(), got, out.begin());
    return script_.code;
  }

 private:
  Script& script_;
};

TEST(Dcmi, APowerReadingIsDecoded) {
  const auto bytes = answer();
  const auto power = parse_dcmi_power(bytes);
  ASSERT_TRUE(power) << power.error().text();
  EXPECT_EQ(power->now, Watts(320));
  EXPECT_EQ(power->minimum, Watts(100));
  EXPECT_EQ(power->maximum, Watts(500));
  EXPECT_EQ(power->mean, Watts(300));
  EXPECT_NEAR(power->period.value(), 1'131'463.4, 1);
}

TEST(Dcmi, RefusalsAndShortAnswersAreErrors) {
  auto bytes = answer();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::span<const unsigned char> part(bytes.data(), size);
    EXPECT_EQ(parse_dcmi_power(part).error().code, ErrorCode::kDataLoss) << size;
    EXPECT_EQ(read_dcmi_power(part).code, ErrorCode::kDataLoss) << size;
  }
  bytes[0] = 0xC1;
  EXPECT_EQ(parse_dcmi_power(bytes).error().code, ErrorCode::kNotSupported);
  bytes = answer();
  bytes[1] = 0x00;
  EXPECT_EQ(parse_dcmi_power(bytes).error().code, ErrorCode::kDataLoss);
  bytes = answer();
  bytes[18] = 0;  // not measuring: the 320 W are of some other time
  EXPECT_EQ(parse_dcmi_power(bytes).error().code, ErrorCode::kUnavailable);
}

TEST(Dcmi, TheNodeIsAskedAndItsSilenceIsAnErrorCode) {
  FakeLine::Script script;
  script.answer = answer();
  const Discovered found = discover_dcmi(std::make_unique<FakeLine>(script));
  Source& node = *found.devices.at(0)->sources().at(0);
  EXPECT_EQ(script.asked, (std::vector<unsigned char>{0x2C, 0x02, 0xDC, 0x01, 0x00, 0x00}));
  EXPECT_EQ(node.info().boundary, Boundary::kNode);
  EXPECT_NE(node.info().overlaps, "");
  // The period of the statistics is not the reading's pace.
  EXPECT_EQ(node.info().tick, Seconds(1));
  EXPECT_EQ(node.read().micro, 320'000'000U);
  script.code = ErrorCode::kTimeout;
  EXPECT_EQ(node.read().code, ErrorCode::kTimeout);
}

TEST(Dcmi, AControllerThatCannotIsAProblem) {
  FakeLine::Script script;
  script.answer = {0xC1};
  const Discovered found = discover_dcmi(std::make_unique<FakeLine>(script));
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(found.problems.at(0).error.code, ErrorCode::kNotSupported);
}

TEST(Dcmi, NoDeviceIsNoProblemAndAClosedOneIs) {
  const TempTree tree;
  EXPECT_TRUE(discover_ipmi_dcmi(tree.roots()).problems.empty());
  tree.write("dev/ipmi0", "");
  tree.deny("dev/ipmi0");
  const OrdinaryUser nobody;
  const Discovered found = discover_ipmi_dcmi(tree.roots());
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].error.code, ErrorCode::kPermissionDenied);
  EXPECT_FALSE(found.problems[0].error.remedy.empty());
}

TEST(Dcmi, AFileThatIsNoControllerDoesNotHang) {
  const TempTree tree;
  tree.write("dev/ipmi0", "");
  const Discovered found = discover_ipmi_dcmi(tree.roots());
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(found.problems.size(), 1U);
}
}  // namespace
}  // namespace perjoule

#include "server/zeusd/power_streams.h"

#include <gtest/gtest.h>

#include "server/http/test_exchange.h"
#include "server/zeusd/fake_node.h"

namespace perjoule {
namespace {

using Of = PowerStreams::Of;

class PowerStreamsTest : public testing::Test {
 protected:
  std::shared_ptr<TestExchange> join(Of what, std::set<int> ids) {
    auto exchange = std::make_shared<TestExchange>();
    EXPECT_TRUE(streams_.join(what, std::move(ids), exchange));
    return exchange;
  }
  void look(Of what, double seconds = 0.1) {
    clock_.advance(Seconds(seconds));
    streams_.look(what);
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++found;
    return found;
  }

  VirtualClock clock_{Instant{1'000'000'000}};
  FakeNode node_{clock_};
  const ZeusdDevices devices_ = ZeusdDevices::of(node_.node->machine(), node_.node->meter());
  PowerStreams streams_{devices_, node_.node->meter(), clock_, false};
};

TEST_F(PowerStreamsTest, OnlyWhatHasChangedIsSent) {
  const auto both = join(Of::kGpus, {0, 1});
  look(Of::kGpus);
  EXPECT_EQ(count(both->text(), "\"gpu_id\":0,\"power_mw\":300000}\n\n"), 1U) << both->text();
  EXPECT_EQ(count(both->text(), "\"gpu_id\":1,\"power_mw\":200000}\n\n"), 1U);
  look(Of::kGpus);
  EXPECT_EQ(count(both->text(), "data: "), 2U) << "nothing has changed";
  // Who comes later hears what is, and only of what he asked for.
  const auto one = join(Of::kGpus, {1});
  look(Of::kGpus);
  EXPECT_EQ(count(one->text(), "data: "), 1U);
  node_.slope = 10;
  look(Of::kGpus);
  EXPECT_EQ(count(both->text(), "data: "), 4U);
  EXPECT_EQ(count(one->text(), "data: "), 2U);
  const std::string event = one->text().substr(0, one->text().find("\n\n"));
  const auto parsed = parse_json(event.substr(6));
  ASSERT_TRUE(parsed) << event;
  EXPECT_TRUE(parsed->integer("timestamp_ms"));
}

TEST_F(PowerStreamsTest, AProcessorsPowerIsThatBetweenTwoMovesOfItsCounter) {
  const auto both = join(Of::kCpus, {0, 1});
  look(Of::kCpus);
  EXPECT_EQ(both->text(), "") << "one reading is no power";
  look(Of::kCpus, 0.25);
  EXPECT_EQ(count(both->text(), "\"cpu_id\":0,\"cpu_mw\":80000,\"dram_mw\":10000}"), 1U)
      << both->text();
  EXPECT_EQ(count(both->text(), "\"cpu_id\":1,\"cpu_mw\":50000,\"dram_mw\":null}"), 1U);
  look(Of::kCpus, 1e-6);
  EXPECT_EQ(count(both->text(), "data: "), 2U) << "it has not moved";
}

TEST_F(PowerStreamsTest, NothingIsReadUnlessSomebodyListens) {
  const int before = node_.counter->reads;
  look(Of::kGpus);
  EXPECT_EQ(node_.counter->reads, before);
  const auto one = join(Of::kGpus, {1});
  look(Of::kGpus);
  streams_.ended(*one);
  EXPECT_EQ(streams_.listeners(), 0U);
  const std::string heard = one->text();
  look(Of::kGpus);
  EXPECT_EQ(one->text(), heard);
}

TEST_F(PowerStreamsTest, WhoLagsIsEndedAndWhoIsSilentIsKeptAlive) {
  const auto slow = join(Of::kGpus, {0});
  const auto quick = join(Of::kGpus, {1});
  slow->lag();
  node_.slope = 1;
  for (int i = 0; i < 20'000 && streams_.listeners() == 2; ++i) look(Of::kGpus, 0.05);
  EXPECT_TRUE(slow->is_broken());
  EXPECT_FALSE(quick->is_over());
  node_.slope = 0;
  look(Of::kGpus);
  look(Of::kGpus, 16);
  EXPECT_TRUE(quick->text().ends_with(": alive\n\n"));
  streams_.close();
  EXPECT_TRUE(quick->is_over());
  EXPECT_FALSE(quick->is_broken());
  EXPECT_FALSE(streams_.join(Of::kGpus, {0}, std::make_shared<TestExchange>()));
}

}  // namespace
}  // namespace perjoule

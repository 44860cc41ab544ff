#include "server/node/node.h"

#include <gtest/gtest.h>

#include "device/plain_device.h"
#include "device/temp_tree.h"
#include "meter/fake_source.h"
#include "net/prometheus_text.h"
#include "server/node/exposition.h"

namespace perjoule {
namespace {

class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    Inventory machine;
    for (const auto& [id, kind, watts] :
         {std::tuple{"gpu:a", DeviceKind::kGpu, 300.0}, {"cpu:0", DeviceKind::kCpu, 80.0}}) {
      DeviceInfo info;
      info.id = id;
      info.kind = kind;
      info.name = std::string("made \"up\" ") + id;
      auto device = std::make_unique<PlainDevice>(info);
      device->add(std::make_unique<FakeSource>(fake_counter(id, 0), clock_,
                                               [power = watts](double) { return power; }));
      machine.devices.push_back(std::move(device));
    }
    DeviceInfo silent;
    silent.id = "gpu:silent";
    silent.kind = DeviceKind::kGpu;
    machine.devices.push_back(std::make_unique<PlainDevice>(silent));
    // Looked at by hand: its thread waits for as long as the test lasts.
    auto node =
        Node::start(std::move(machine),
                    {.name = "n1", .every = Seconds(3600), .procfs = procfs_.path()}, clock_);
    ASSERT_TRUE(node) << node.error().text();
    node_ = std::move(*node);
  }
  void look(double seconds) {
    clock_.advance(Seconds(seconds));
    ASSERT_TRUE(node_->look());
  }
  MetricsText metrics() {
    MetricsPage page;
    add_node_metrics(page, *node_);
    const auto parsed = parse_metrics_text(page.take());
    EXPECT_TRUE(parsed) << parsed.error().text();
    return parsed ? *parsed : MetricsText();
  }

  TempTree procfs_;
  VirtualClock clock_{Instant{1'000'000'000}};
  std::unique_ptr<Node> node_;
};

TEST_F(NodeTest, ALookIsAPictureAndPartOfTheHistory) {
  EXPECT_EQ(node_->latest(), nullptr);
  look(2);
  const auto picture = node_->latest();
  ASSERT_NE(picture, nullptr);
  EXPECT_EQ(picture->sequence, 1U);
  EXPECT_NEAR(picture->power.total.value(), 380, 1e-6);
  EXPECT_NEAR(picture->total_so_far.value(), 760, 1e-6);
  look(1);
  EXPECT_NEAR(node_->latest()->total_so_far.value(), 1140, 1e-6);
  EXPECT_NEAR(picture->total_so_far.value(), 760, 1e-6) << "a picture never changes";
  EXPECT_EQ(node_->history().series(), (std::vector<std::string>{"cpu:0", "gpu:a", "total"}));
  EXPECT_EQ(node_->live().last(), 2U);
}

TEST_F(NodeTest, WhatADeviceCannotTellIsNull) {
  look(1);
  const Json document = picture_document(*node_->latest());
  const Json& silent = (*document.find("devices")->as_array())[2];
  EXPECT_EQ(silent.string("id"), "gpu:silent");
  EXPECT_TRUE(silent.find("power_w")->is_null());
  EXPECT_TRUE(silent.find("clock_mhz")->is_null());
  EXPECT_EQ(silent.find("energy")->string("status"), "missing");
  EXPECT_TRUE(document.find("processes")->as_array()->empty()) << "nobody's business";
}

TEST_F(NodeTest, ItsMetricsAreAPageThatReadsBack) {
  MetricsText before = metrics();
  EXPECT_TRUE(before.named("perjoule_device_power_watts").empty()) << "not measured yet";
  look(2);
  const MetricsText text = metrics();
  const auto power = text.named("perjoule_device_power_watts");
  ASSERT_EQ(power.size(), 2U) << "the silent one has no sample";
  EXPECT_EQ(power[0]->label("device"), "gpu:a");
  EXPECT_NEAR(power[0]->value, 300, 1e-6);
  EXPECT_NEAR(text.named("perjoule_node_energy_joules_total")[0]->value, 760, 1e-6);
  EXPECT_EQ(text.named("perjoule_device_info")[0]->label("name"), "made \"up\" gpu:a");
  EXPECT_EQ(text.named("perjoule_node_info")[0]->label("node"), "n1");
  for (const MetricFamily& family : text.families) {
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_EQ(family.kind == MetricKind::kCounter, family.name.ends_with("_total")) << family.name;
  }
}

TEST(NodeStartTest, AMachineThatTellsNothingIsNoNode) {
  const VirtualClock clock;
  const auto node = Node::start({}, {}, clock);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace perjoule

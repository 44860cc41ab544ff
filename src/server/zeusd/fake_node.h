// For tests: a node of two made-up GPUs and two processors, on a virtual clock.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "device/plain_device.h"
#include "device/temp_tree.h"
#include "meter/fake_source.h"
#include "server/node/node.h"

namespace perjoule {

class MadeUpGpu final : public PlainDevice {
 public:
  using PlainDevice::PlainDevice;
  DeviceState state() override { return told; }
  DeviceState told;
};

/// Tells a power of now, and asks for upkeep so seldom that a node's own thread never reads it in a
/// test: a virtual clock is one thread's.
class MadeUpGauge final : public Source {
 public:
  MadeUpGauge(SourceInfo info, const VirtualClock& clock, std::function<double(double)> watts)
      : info_(std::move(info)), clock_(clock), watts_(std::move(watts)) {
    info_.kind = SourceKind::kPowerGauge;
    info_.tick = Seconds(3600);
  }
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    const double now = static_cast<double>(clock_.now().ns) * 1e-9;
    return {ErrorCode::kOk, static_cast<std::uint64_t>(watts_(now) * 1e6)};
  }

 private:
  SourceInfo info_;
  const VirtualClock& clock_;
  std::function<double(double)> watts_;
};

class TextKnob final : public Knob {
 public:
  explicit TextKnob(KnobInfo info, std::string value)
      : info_(std::move(info)), value_(std::move(value)) {}
  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override { return value_; }
  Outcome set(const std::string& value) override {
    if (is_forbidden) return Error::permission_denied("setting " + info_.id);
    value_ = value;
    return {};
  }
  bool is_forbidden = false;

 private:
  KnobInfo info_;
  std::string value_;
};

/// GPU 0 of 300 W with all knobs, GPU 1 of 200 W with none; CPU 0 of 80 W with memory of 10 W,
/// CPU 1 of 50 W without. Powers change with time where `slope` is not 0.
class FakeNode {
 public:
  explicit FakeNode(VirtualClock& clock) : clock_(clock) {
    Inventory machine;
    machine.devices.push_back(gpu(0, 300));
    auto knobless = gpu(1, 200);
    machine.devices.push_back(std::move(knobless));
    auto* const full = static_cast<MadeUpGpu*>(machine.devices[0].get());
    full->told.persistence = true;
    limit = add_knob(*full, "power limit", "W", 100, 700, "700 W", "700 W");
    core = add_knob(*full, "clock", "MHz", 210, 1980, "unlocked", "unlocked");
    memory = add_knob(*full, "memory clock", "MHz", 810, 2619, "unlocked", "unlocked");
    machine.devices.push_back(cpu(0, true));
    machine.devices.push_back(cpu(1, false));
    auto started =
        Node::start(std::move(machine),
                    {.name = "n1", .every = Seconds(3600), .procfs = procfs_.path()}, clock_);
    EXPECT_TRUE(started) << started.error().text();
    node = std::move(*started);
  }

  std::unique_ptr<Node> node;
  TextKnob* limit = nullptr;
  TextKnob* core = nullptr;
  TextKnob* memory = nullptr;
  double slope = 0;               ///< W a second
  FakeSource* counter = nullptr;  ///< of GPU 0

 private:
  std::unique_ptr<MadeUpGpu> gpu(int index, double watts) {
    DeviceInfo info;
    info.id = "gpu:G" + std::to_string(index);
    info.kind = DeviceKind::kGpu;
    info.name = "made up";
    info.index = index;
    info.pci = "0000:0" + std::to_string(index) + ":00.0";
    auto device = std::make_unique<MadeUpGpu>(info);
    const auto power = [this, watts](double t) { return watts + slope * t; };
    SourceInfo energy = fake_counter(info.id, 0);
    energy.modulus_micro = 4'000'000'000'000;  // wraps each 3.7 h at 300 W
    auto source = std::make_unique<FakeSource>(energy, clock_, power);
    if (index == 0) counter = source.get();
    device->add(std::move(source));
    SourceInfo gauge = fake_counter(info.id + "/power", 0);
    gauge.device = info.id;
    gauge.overlaps = info.id;
    device->add(std::make_unique<MadeUpGauge>(gauge, clock_, power));
    return device;
  }
  std::unique_ptr<PlainDevice> cpu(int index, bool has_dram) {
    DeviceInfo info;
    info.id = "cpu:" + std::to_string(index);
    info.kind = DeviceKind::kCpu;
    info.index = index;
    auto device = std::make_unique<PlainDevice>(info);
    for (const char* const scope : {"package", "dram"}) {
      if (scope == std::string("dram") && !has_dram) continue;
      SourceInfo source = fake_counter(info.id + "/" + scope, 0.001);
      source.device = info.id;
      source.scope = scope;
      const double watts = scope == std::string("dram") ? 10 : 80 - 30 * index;
      device->add(std::make_unique<FakeSource>(source, clock_, [watts](double) { return watts; }));
    }
    return device;
  }
  static TextKnob* add_knob(PlainDevice& device, const std::string& name, const std::string& unit,
                            double lowest, double highest, const std::string& usual,
                            const std::string& now) {
    KnobInfo info;
    info.id = device.info().id + "/" + name;
    info.device = device.info().id;
    info.name = name;
    info.unit = unit;
    info.minimum = lowest;
    info.maximum = highest;
    info.default_value = usual;
    auto knob = std::make_unique<TextKnob>(info, now);
    TextKnob* const raw = knob.get();
    device.add(std::move(knob));
    return raw;
  }

  VirtualClock& clock_;
  TempTree procfs_;
};

}  // namespace perjoule

// A device that is nothing but its description, its sources and its knobs: what most interfaces
// need.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"

namespace perjoule {

class PlainDevice : public Device {
 public:
  explicit PlainDevice(DeviceInfo info) : info_(std::move(info)) {}
  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override {
    std::vector<Source*> out;
    for (const auto& source : sources_) out.push_back(source.get());
    return out;
  }
  std::vector<Knob*> knobs() override {
    std::vector<Knob*> out;
    for (const auto& knob : knobs_) out.push_back(knob.get());
    return out;
  }
  void add(std::unique_ptr<Source> source) { sources_.push_back(std::move(source)); }
  void add(std::unique_ptr<Knob> knob) { knobs_.push_back(std::move(knob)); }

 private:
  DeviceInfo info_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::unique_ptr<Knob>> knobs_;
};

}  // namespace perjoule

#include "device/joined_device.h"

#include <algorithm>

namespace perjoule {
namespace {

template <typename T>
std::vector<T*> joined(std::vector<T*> all, const std::vector<T*>& more) {
  for (T* one : more) {
    const bool known = std::any_of(all.begin(), all.end(),
                                   [one](T* other) { return other->info().id == one->info().id; });
    if (!known) all.push_back(one);
  }
  return all;
}

class JoinedDevice final : public Device {
 public:
  JoinedDevice(std::unique_ptr<Device> first, std::unique_ptr<Device> second)
      : first_(std::move(first)), second_(std::move(second)), info_(first_->info()) {
    const DeviceInfo& other = second_->info();
    for (const auto member : {&DeviceInfo::name, &DeviceInfo::vendor, &DeviceInfo::uuid,
                              &DeviceInfo::pci, &DeviceInfo::note}) {
      if ((info_.*member).empty()) info_.*member = other.*member;
    }
    if (!first_->sources().empty() && second_->sources().empty()) return;
    if (info_.driver.empty() || first_->sources().empty()) {
      info_.driver = other.driver;
    } else if (other.driver != info_.driver && !other.driver.empty()) {
      info_.driver += " + " + other.driver;
    }
  }

  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override { return joined(first_->sources(), second_->sources()); }
  std::vector<Knob*> knobs() override { return joined(first_->knobs(), second_->knobs()); }
  DeviceState state() override {
    const DeviceState state = first_->state();
    return state.power || state.clock || state.utilisation ? state : second_->state();
  }
  Result<std::vector<DeviceProcess>> processes() override {
    auto processes = first_->processes();
    return processes ? std::move(processes) : second_->processes();
  }

 private:
  std::unique_ptr<Device> first_;
  std::unique_ptr<Device> second_;
  DeviceInfo info_;
};

}  // namespace

void join_device(std::vector<std::unique_ptr<Device>>& devices, std::unique_ptr<Device> device) {
  for (auto& known : devices) {
    if (known->info().id != device->info().id) continue;
    known = std::make_unique<JoinedDevice>(std::move(known), std::move(device));
    return;
  }
  devices.push_back(std::move(device));
}

}  // namespace perjoule

#include "meter/gpu_usage.h"

#include <algorithm>

#include "device/process_times.h"

namespace perjoule {

GpuUsage::GpuUsage(std::vector<Device*> devices, std::string procfs)
    : devices_(std::move(devices)), procfs_(std::move(procfs)) {
  for (const Device* device : devices_) {
    DeviceUsage usage;
    usage.device = device->info().id;
    usage_.push_back(std::move(usage));
  }
}

void GpuUsage::follow(std::int64_t root) {
  const std::vector<ProcessTimes> all = list_process_times(procfs_);
  ours_now_.clear();
  ours_now_.insert(root);
  // One whose parent has ended is known by having been ours before.
  for (const ProcessTimes& one : all) {
    if (ours_.count({one.pid, one.start_ticks}) > 0) ours_now_.insert(one.pid);
  }
  // A child may be listed before its parent: until nobody is added.
  for (std::size_t before = 0; before != ours_now_.size();) {
    before = ours_now_.size();
    for (const ProcessTimes& one : all) {
      if (ours_now_.count(one.parent) > 0) ours_now_.insert(one.pid);
    }
  }
  for (const ProcessTimes& one : all) {
    if (ours_now_.count(one.pid) > 0) ours_.insert({one.pid, one.start_ticks});
  }
}

void GpuUsage::look(std::int64_t root, Instant now) {
  const Seconds since = last_.ns != 0 ? now - last_ : Seconds(0);
  last_ = now;
  follow(root);
  if (since.value() <= 0) return;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const auto held = devices_[i]->processes();
    if (!held || held->empty()) continue;
    const bool told = std::any_of(held->begin(), held->end(),
                                  [](const DeviceProcess& one) { return one.utilisation > 0; });
    double mine = 0;
    double others = 0;
    for (const DeviceProcess& one : *held) {
      const bool ours = ours_now_.count(one.pid) > 0;
      (ours ? mine : others) += told ? one.utilisation : 1;
      if (!ours) usage_[i].strangers.insert(one.pid);
    }
    usage_[i].mine += since * (mine / (mine + others));
    usage_[i].others += since * (others / (mine + others));
    ++usage_[i].looks;
  }
}

}  // namespace perjoule

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

void GpuUsage::begin(Instant now) { last_.assign(devices_.size(), LastLook{now, {}, -1}); }

void GpuUsage::give(std::size_t i, Seconds time) {
  const LastLook& last = last_[i];
  if (last.mine < 0) return;
  usage_[i].mine += time * last.mine;
  usage_[i].others += time * (1 - last.mine);
}

void GpuUsage::ask(std::size_t i, Instant now) {
  ++usage_[i].asked;
  last_[i] = {now, now - last_[i].at, -1};
  const auto held = devices_[i]->processes();
  if (!held || held->empty()) return;
  const bool told = std::any_of(held->begin(), held->end(),
                                [](const DeviceProcess& one) { return one.utilisation > 0; });
  double mine = 0;
  double others = 0;
  for (const DeviceProcess& one : *held) {
    const bool ours = ours_now_.count(one.pid) > 0;
    (ours ? mine : others) += told ? one.utilisation : 1;
    if (!ours) usage_[i].strangers.insert(one.pid);
  }
  LastLook& last = last_[i];
  last.mine = mine / (mine + others);
  give(i, last.stands_for);
  usage_[i].squares += last.stands_for.value() * last.stands_for.value();
  ++usage_[i].looks;
}

void GpuUsage::look(std::int64_t root, Instant now, const std::stop_token& stop) {
  follow(root);
  if (last_.empty()) {
    begin(now);
    return;
  }
  for (std::size_t i = 0; i < devices_.size() && !stop.stop_requested(); ++i) {
    if (now > last_[i].at) ask(i, now);
  }
}

void GpuUsage::finish(Instant end) {
  for (std::size_t i = 0; i < last_.size(); ++i) {
    const Seconds left = end - last_[i].at;
    if (left.value() <= 0 || last_[i].mine < 0) continue;
    give(i, left);
    const double before = last_[i].stands_for.value();
    const double whole = before + left.value();
    usage_[i].squares += whole * whole - before * before;
    last_[i].at = end;
  }
}

}  // namespace perjoule

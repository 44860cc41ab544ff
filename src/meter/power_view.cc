#include "meter/power_view.h"

#include <algorithm>

#include "meter/attribution.h"

namespace perjoule {
namespace {
constexpr const char* kNotVisible = "(not visible here)";
}  // namespace

PowerView::PowerView(const Inventory& machine, Meter& meter, std::string procfs)
    : machine_(machine), meter_(meter), procfs_(std::move(procfs)) {
  for (ProcessTimes& one : list_process_times(procfs_)) before_[one.pid] = std::move(one);
  (void)open_window();
}

Outcome PowerView::open_window() {
  PJ_TRY(Window window, meter_.begin("view"));
  window_.emplace(std::move(window));
  return {};
}

ProcessPower& PowerView::process(PowerPicture& picture, std::int64_t pid) {
  for (ProcessPower& known : picture.processes) {
    if (known.pid == pid) return known;
  }
  ProcessPower made;
  made.pid = pid;
  picture.processes.push_back(made);
  return picture.processes.back();
}

void PowerView::share_cpu(PowerPicture& picture, const std::vector<ProcessTimes>& now,
                          Watts power) {
  std::vector<Weight> weights;
  std::vector<const ProcessTimes*> owners;
  double ticks = 0;
  for (const ProcessTimes& one : now) {
    const auto earlier = before_.find(one.pid);
    const bool same = earlier != before_.end() && earlier->second.start_ticks == one.start_ticks;
    const Seconds used = one.cpu - (same ? earlier->second.cpu : Seconds(0));
    if (used.value() <= 0) continue;
    weights.push_back({"", used.value()});
    owners.push_back(&one);
    ticks += used.value() * 100;
  }
  Energy energy;
  energy.joules = power * Seconds(1);
  energy.status = Status::kMeasured;
  const std::vector<Attributed> parts = attribute(energy, std::nullopt, weights, ticks);
  if (owners.empty()) {
    picture.unattributed += power;
    return;
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    ProcessPower& one = process(picture, owners[i]->pid);
    one.name = owners[i]->name;
    one.cpu_share = weights[i].amount / std::max(picture.span.value(), 1e-9);
    one.cpu_power += parts[i].energy.joules / Seconds(1);
  }
}

void PowerView::share_gpu(PowerPicture& picture, Device& device, Watts power) {
  const auto processes = device.processes();
  if (!processes || processes->empty()) {
    picture.unattributed += power;
    return;
  }
  std::vector<Weight> weights;
  for (const DeviceProcess& one : *processes) weights.push_back({"", one.utilisation});
  const bool told =
      std::any_of(weights.begin(), weights.end(), [](const Weight& w) { return w.amount > 0; });
  if (!told) {
    for (Weight& weight : weights) weight.amount = 1;
  }
  Energy energy;
  energy.joules = power * Seconds(1);
  energy.status = Status::kMeasured;
  const std::vector<Attributed> parts = attribute(energy, std::nullopt, weights, 100);
  for (std::size_t i = 0; i < processes->size(); ++i) {
    ProcessPower& one = process(picture, (*processes)[i].pid);
    // The driver's pids are the host's, in a container not always those seen here
    // (HAMi-core#112, nvidia-docker#1483): such a one is shown, and given no other's name.
    if (one.name.empty()) one.name = kNotVisible;
    one.gpu_power += parts[i].energy.joules / Seconds(1);
    one.gpu_memory_bytes += (*processes)[i].memory_bytes;
  }
}

namespace {
/// A device's energy: of its sources that add up, or, where there are none, of the first meter of
/// the whole machine. Answers whether it belongs in the total.
bool take_energy(DevicePower& device, const Measurement& measured) {
  std::optional<Energy> sum;
  bool added = true;
  for (const SourceMeasurement& source : measured.sources) {
    if (source.info.device != device.info.id || !source.info.overlaps.empty()) continue;
    sum = sum ? *sum + source.energy : source.energy;
  }
  const bool whole =
      device.info.kind == DeviceKind::kNode || device.info.kind == DeviceKind::kBattery;
  for (const SourceMeasurement& source : measured.sources) {
    if (sum || !whole || source.info.device != device.info.id) continue;
    sum = source.energy;
    added = measured.is_summed(source);
  }
  device.energy = sum.value_or(Energy::missing(device.info.id));
  return added;
}
}  // namespace

Result<PowerPicture> PowerView::refresh() {
  if (!window_) PJ_CHECK(open_window());
  const Measurement measured = window_->end_after_exit();
  PJ_CHECK(open_window());
  PowerPicture picture;
  picture.span = measured.duration;
  const std::vector<ProcessTimes> now = list_process_times(procfs_);
  for (const auto& device : machine_.devices) {
    DevicePower one;
    one.info = device->info();
    one.state = device->state();
    const bool added = take_energy(one, measured);
    const bool known = one.energy.status != Status::kMissing && picture.span.value() > 0;
    if (known) {
      one.power = one.energy.joules / picture.span;
      if (added) {
        picture.total += one.power;
        picture.energy =
            picture.energy.status == Status::kMissing ? one.energy : picture.energy + one.energy;
      }
      so_far_[one.info.id] += one.energy.joules;
      if (one.info.kind == DeviceKind::kCpu) share_cpu(picture, now, one.power);
      if (one.info.kind == DeviceKind::kGpu) share_gpu(picture, *device, one.power);
    }
    one.so_far = so_far_[one.info.id];
    picture.devices.push_back(std::move(one));
  }
  before_.clear();
  for (const ProcessTimes& one : now) {
    before_[one.pid] = one;
    for (ProcessPower& shown : picture.processes) {
      if (shown.pid == one.pid) shown.name = one.name;
    }
  }
  std::sort(picture.processes.begin(), picture.processes.end(),
            [](const ProcessPower& a, const ProcessPower& b) { return a.power() > b.power(); });
  constexpr std::size_t kWithCgroup = 64;
  for (std::size_t i = 0; i < std::min(kWithCgroup, picture.processes.size()); ++i) {
    picture.processes[i].cgroup = cgroup_of(procfs_, picture.processes[i].pid);
  }
  return picture;
}

}  // namespace perjoule

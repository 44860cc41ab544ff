#include "server/zeusd/zeusd_devices.h"

#include <cmath>

namespace perjoule {
namespace {

/// The channel that a device's energy is summed by, a counter rather than a gauge.
Channel* energy_channel(const std::string& device, Meter& meter) {
  Channel* gauge = nullptr;
  for (const auto& channel : meter.channels()) {
    const SourceInfo& info = channel->info();
    if (info.device != device || !info.overlaps.empty()) continue;
    if (info.kind == SourceKind::kEnergyCounter) return channel.get();
    if (gauge == nullptr) gauge = channel.get();
  }
  return gauge;
}

Channel* power_channel(const std::string& device, Meter& meter) {
  for (const auto& channel : meter.channels()) {
    const SourceInfo& info = channel->info();
    if (info.device == device && info.kind == SourceKind::kPowerGauge && info.scope != "memory")
      return channel.get();
  }
  return nullptr;
}

ZeusdGpu gpu_of(Device& device, Meter& meter) {
  ZeusdGpu gpu{.id = device.info().index, .device = &device};
  gpu.energy = energy_channel(device.info().id, meter);
  gpu.power = power_channel(device.info().id, meter);
  for (Knob* const knob : device.knobs()) {
    const std::string& name = knob->info().name;
    if (name == "power limit") gpu.power_limit = knob;
    if (name == "clock") gpu.clock = knob;
    if (name == "memory clock") gpu.memory_clock = knob;
  }
  return gpu;
}

void add_cpu(const DeviceInfo& device, Meter& meter, std::map<int, ZeusdCpu>& cpus) {
  ZeusdCpu cpu{.id = device.index};
  for (const auto& channel : meter.channels()) {
    const SourceInfo& info = channel->info();
    if (info.device != device.id || info.kind != SourceKind::kEnergyCounter ||
        info.status == Status::kEstimated) {
      continue;
    }
    if (info.scope == "package" && cpu.package == nullptr) cpu.package = channel.get();
    if (info.scope == "dram" && cpu.dram == nullptr) cpu.dram = channel.get();
  }
  if (cpu.package != nullptr) cpus.emplace(cpu.id, cpu);
}

}  // namespace

ZeusdDevices ZeusdDevices::of(const Inventory& machine, Meter& meter) {
  ZeusdDevices devices;
  for (const auto& device : machine.devices) {
    const DeviceInfo& info = device->info();
    if (info.kind == DeviceKind::kGpu) devices.gpus.emplace(info.index, gpu_of(*device, meter));
    if (info.kind == DeviceKind::kCpu) add_cpu(info, meter, devices.cpus);
  }
  return devices;
}

Result<std::uint64_t> energy_so_far(Channel& channel) {
  const Snapshot at = channel.read(false);
  if (at.code == ErrorCode::kOk) return at.total_micro;
  return tl::unexpected<Error>({at.code, channel.info().id + " cannot be read now", {}});
}

Result<std::int64_t> power_now(const ZeusdGpu& gpu) {
  if (gpu.power == nullptr) {
    return Error::not_supported(gpu.device->info().id + " does not tell its power");
  }
  const Snapshot at = gpu.power->read(false);
  if (at.code == ErrorCode::kOk && at.power) return std::llround(at.power->value() * 1e3);
  return tl::unexpected<Error>({at.code == ErrorCode::kOk ? ErrorCode::kUnavailable : at.code,
                                gpu.power->info().id + " cannot be read now",
                                {}});
}

std::optional<std::int64_t> milliwatts_between(const Snapshot& before, const Snapshot& after) {
  const double seconds = (after.last_change - before.last_change).value();
  if (seconds <= 0 || after.total_micro < before.total_micro) return std::nullopt;
  return std::llround(static_cast<double>(after.total_micro - before.total_micro) / seconds * 1e-3);
}

}  // namespace perjoule

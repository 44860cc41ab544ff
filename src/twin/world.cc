#include "twin/world.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/file.h"

namespace perjoule::twin {
namespace {

// Steps in which a real-time waiter sleeps: short against what a cap change does to the rate.
constexpr double kLongestSleep = 0.005;
constexpr double kStartTemperature = 34;  // a few degrees above ambient, as idle parts are
constexpr char kDriver[] = "550.90.07";

template <std::size_t N>
void copy_text(char (&into)[N], std::string_view text) {
  const std::size_t n = std::min(text.size(), N - 1);
  std::memcpy(into, text.data(), n);
  into[n] = '\0';
}

std::int64_t to_ns(Seconds time) {
  return time.value() < 0 ? -1 : std::llround(time.value() * 1e9);
}

Outcome add_call_fault(ControlBlock& block, const Fault& fault) {
  if (block.call_fault_count == kMaxCallFaults) {
    return Error::out_of_range("too many call faults: at most " + std::to_string(kMaxCallFaults));
  }
  CallFault& entry = block.call_faults[block.call_fault_count++];
  entry = CallFault{};
  copy_text(entry.call, fault.call);
  entry.device = fault.device;
  entry.code = fault.kind == FaultKind::kSlow ? 0 : fault.code;
  entry.from_ns = to_ns(fault.from);
  entry.until_ns = to_ns(fault.until);
  entry.delay_ns = to_ns(fault.delay);
  entry.left = fault.count;
  return {};
}

Outcome set_sensor_fault(DeviceBlock& device, const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kReset:
      device.faults.sensor.reset_at_ns = to_ns(fault.from);
      return {};
    case FaultKind::kFreeze:
      device.faults.sensor.frozen_from_ns = to_ns(fault.from);
      device.faults.sensor.frozen_until_ns = to_ns(fault.until);
      return {};
    case FaultKind::kStepBack:
      device.faults.sensor.step_back_at_ns = to_ns(fault.from);
      device.faults.sensor.step_back_mj = fault.value * 1e3;
      return {};
    case FaultKind::kTick:
    case FaultKind::kWindow: {
      const int ms = static_cast<int>(std::lround(fault.value));
      if (ms < 1 || ms >= kHistoryMs) {
        return Error::out_of_range("tick or window outside 1 to 2047 ms: " + fault.text);
      }
      if (fault.kind == FaultKind::kTick) device.sensor.tick_ms = ms;
      if (fault.kind == FaultKind::kWindow) {
        device.sensor.instant_window_ms = ms;
        device.sensor.average_window_ms = ms;
      }
      return {};
    }
    case FaultKind::kGaps:
      device.sensor.counter_covers_gaps = false;
      return {};
    default:
      return Error::internal("not a sensor fault");
  }
}

Outcome set_device_fault(DeviceBlock& device, const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kLost:
      device.faults.lost_at_ns = to_ns(fault.from);
      return {};
    case FaultKind::kXid:
      device.faults.xid_at_ns = to_ns(fault.from);
      device.faults.xid = static_cast<std::uint64_t>(fault.value);
      return {};
    case FaultKind::kStride: {
      const int stride = static_cast<int>(fault.value);
      if (stride != 16 && stride != 24 && stride != 32) {
        return Error::invalid_argument("no such process list stride: " + fault.text,
                                       "use 16, 24 or 32");
      }
      device.faults.process_stride = stride;
      return {};
    }
    case FaultKind::kMig: {
      const int instances = static_cast<int>(fault.value);
      if (instances > static_cast<int>(device.mig_slices_max)) {
        return Error::out_of_range(std::string(device.key) + " has at most " +
                                   std::to_string(device.mig_slices_max) + " MIG instances");
      }
      device.mig_instances = instances;
      return {};
    }
    case FaultKind::kNoPermission:
      device.faults.setters_denied = true;
      return {};
    case FaultKind::kCap:
      device.faults.out_of_band_cap_w = fault.value;
      return {};
    default:
      return set_sensor_fault(device, fault);
  }
}

// A device did not come into being when its simulation began: until the first tick its gauges show
// the power of the rest before, as a real one's do, and not 0 W.
void show_rest(DeviceBlock& device) {
  const Simulation& rest = device.simulation;
  const double idle =
      idle_power(device.silicon, /*context=*/false, rest.clock_mhz, rest.temperature_c);
  device.shown.instant_w = device.shown.average_w = idle;
}

}  // namespace

void init_device(DeviceBlock& device, const GpuModel& model, int index) {
  device = DeviceBlock{};
  copy_text(device.key, model.key);
  copy_text(device.name, model.name);
  const auto serial = static_cast<unsigned>(index);
  std::snprintf(device.uuid, sizeof device.uuid, "GPU-7714b111-%04x-4%03x-8%03x-%012x",
                model.pci_device_id >> 16U, model.multiprocessors, serial, serial + 1);
  std::snprintf(device.serial, sizeof device.serial, "15641%08u", serial + 1);
  device.minor = serial;
  device.pci_bus = 0x10 + 8 * serial;
  device.pci_device_id = model.pci_device_id;
  device.architecture = model.architecture;
  device.cuda_major = model.cuda_major;
  device.cuda_minor = model.cuda_minor;
  device.multiprocessors = model.multiprocessors;
  device.mig_slices_max = model.mig_slices;
  device.memory_bytes = model.memory_bytes;
  device.support = model.support;
  device.limit_min_w = model.limit_min_w;
  device.limit_default_w = model.limit_default_w;
  device.limit_max_w = model.limit_max_w;
  device.limit_w = model.limit_default_w;
  device.memory_clock_mhz = model.memory_clock_mhz;
  device.application_default_mhz = model.application_clock_mhz;
  device.silicon = model.silicon;
  device.sensor = model.sensor;
  // Real devices do not tick together.
  device.sensor.tick_phase_ms = 7 * index % model.sensor.tick_ms;
  begin(device.simulation, device.silicon, kStartTemperature);
  show_rest(device);
}

Result<World> World::create(const std::string& path, const std::vector<std::string>& models,
                            ClockMode mode, double speed) {
  if (models.empty() || models.size() > kMaxDevices) {
    return Error::out_of_range("a simulated machine has 1 to 16 devices, not " +
                               std::to_string(models.size()));
  }
  if (!(speed > 0)) return Error::invalid_argument("the twin's speed must be above 0");
  std::vector<const GpuModel*> found;
  for (const std::string& key : models) {
    PJ_TRY(const GpuModel* const model, find_gpu_model(key));
    found.push_back(model);
  }
  PJ_TRY(ControlMapping mapping, ControlMapping::create(path));
  ControlBlock& block = mapping.block();
  block.mode = mode;
  block.speed = speed;
  copy_text(block.driver_version, kDriver);
  block.device_count = static_cast<int>(found.size());
  for (int i = 0; i < block.device_count; ++i) {
    init_device(block.devices[i], *found[static_cast<std::size_t>(i)], i);
  }
  return World(std::move(mapping));
}

Result<World> World::open(const std::string& path) {
  PJ_TRY(ControlMapping mapping, ControlMapping::open(path));
  return World(std::move(mapping));
}

Result<World> World::open_from_environment() {
  const std::string path = environment(kEnvironmentVariable);
  if (path.empty()) {
    return Error::not_found("there is no simulated machine here",
                            "run this under perjoule twin run");
  }
  return open(path);
}

Outcome World::check(int device) const {
  if (device >= 0 && device < device_count()) return {};
  return Error::not_found("no such simulated device: " + std::to_string(device),
                          "there are " + std::to_string(device_count()));
}

std::string World::uuid(int device) const {
  return check(device) ? mapping_.block().devices[device].uuid : "";
}

Seconds World::now() const {
  ControlLock lock(mapping_.block());
  return Seconds(static_cast<double>(now_ns(mapping_.block())) * 1e-9);
}

Outcome World::advance(Seconds by) {
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  if (block.mode != ClockMode::kManual) {
    return Error::conflict("simulated time runs by itself here and cannot be moved");
  }
  if (by.value() < 0) return Error::invalid_argument("simulated time does not go back");
  // This clock stands still between two moves: who is gone has ended before this one.
  for (int i = 0; i < block.device_count; ++i) drop_dead_processes(block.devices[i]);
  block.manual_now_ns += std::llround(by.value() * 1e9);
  for (int i = 0; i < block.device_count; ++i) {
    catch_up(block, block.devices[i], Until::kNow);
  }
  return {};
}

Result<std::uint64_t> World::begin_phase(int device, const Phase& phase, int pid) {
  PJ_CHECK(check(device));
  const double amounts[] = {phase.flop,       phase.bytes,  phase.activity,
                            phase.link_share, phase.host_s, phase.pace_s};
  for (const double amount : amounts) {
    if (!(amount >= 0) || !std::isfinite(amount)) {
      return Error::invalid_argument("a phase has a negative or infinite amount");
    }
  }
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  DeviceBlock& target = block.devices[device];
  catch_up(block, target, Until::kNow);
  const int owner = pid != 0 ? pid : static_cast<int>(getpid());
  attach_process(target, owner, target.memory_bytes / 8);
  const std::uint64_t ticket = post(target.simulation, phase, owner);
  if (ticket == 0) {
    return Error::unavailable("too many phases wait on simulated device " + std::to_string(device));
  }
  return ticket;
}

Outcome World::end_phase(int device) {
  PJ_CHECK(check(device));
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  catch_up(block, block.devices[device], Until::kNow);
  drop_phases(block.devices[device].simulation);
  return {};
}

Seconds World::remaining(int device, std::uint64_t ticket) const {
  if (!check(device)) return Seconds(0);
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  DeviceBlock& target = block.devices[device];
  catch_up(block, target, Until::kNow);
  return Seconds(time_left(target.simulation, target.silicon, ticket));
}

Outcome World::wait(int device, std::uint64_t ticket) {
  PJ_CHECK(check(device));
  ControlBlock& block = mapping_.block();
  if (block.mode == ClockMode::kManual) {
    ControlLock lock(block);
    move_to_end(block, block.devices[device], ticket);
    return {};
  }
  RealClock clock;
  for (;;) {
    const double left = remaining(device, ticket).value();
    if (left <= 0) return {};
    clock.sleep_until(clock.now() + Seconds(std::min(left / block.speed, kLongestSleep)));
  }
}

Outcome World::run(int device, const Phase& phase) {
  PJ_TRY(const std::uint64_t ticket, begin_phase(device, phase));
  return wait(device, ticket);
}

Joules World::truth(int device) const {
  if (!check(device)) return Joules(0);
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  catch_up(block, block.devices[device], Until::kNow);
  return Joules(block.devices[device].simulation.energy_j);
}

Watts World::power(int device) const {
  if (!check(device)) return Watts(0);
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  DeviceBlock& target = block.devices[device];
  catch_up(block, target, Until::kNow);
  return Watts(power_now(target.simulation, target.silicon, controls_of(target)));
}

Outcome World::set_limit(int device, Watts limit) {
  PJ_CHECK(check(device));
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  DeviceBlock& target = block.devices[device];
  catch_up(block, target, Until::kNow);
  if (limit.value() < target.limit_min_w || limit.value() > target.limit_max_w) {
    return Error::out_of_range("power limit outside the simulated device's range");
  }
  target.limit_w = limit.value();
  return {};
}

Outcome World::set_sensor_error(int device, double gain, Watts offset) {
  PJ_CHECK(check(device));
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  catch_up(block, block.devices[device], Until::kNow);
  block.devices[device].sensor.gain = gain;
  block.devices[device].sensor.offset_w = offset.value();
  return {};
}

Outcome World::set_temperature(int device, double celsius) {
  PJ_CHECK(check(device));
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  catch_up(block, block.devices[device], Until::kNow);
  block.devices[device].simulation.temperature_c = celsius;
  block.devices[device].simulation.steady_ms = 0;
  return {};
}

Outcome World::attach(int device, int pid, std::uint64_t memory_bytes) {
  PJ_CHECK(check(device));
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  catch_up(block, block.devices[device], Until::kNow);
  attach_process(block.devices[device], pid, memory_bytes);
  return {};
}

Outcome World::detach(int device, int pid) {
  PJ_CHECK(check(device));
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  DeviceBlock& target = block.devices[device];
  catch_up(block, target, Until::kNow);
  for (ProcessBlock& process : target.processes) {
    if (process.pid == pid) process = ProcessBlock{};
  }
  drop_dead_processes(target);
  return {};
}

Outcome World::set_fault(const Fault& fault) {
  if (fault.device >= 0) PJ_CHECK(check(fault.device));
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  switch (fault.kind) {
    case FaultKind::kReturn:
    case FaultKind::kSlow:
      return add_call_fault(block, fault);
    case FaultKind::kDriver:
      copy_text(block.driver_version, fault.text);
      return {};
    case FaultKind::kMissing:
      return Error::not_supported("a missing symbol is a fault of the library, not of the machine");
    default:
      break;
  }
  for (int i = 0; i < block.device_count; ++i) {
    if (fault.device >= 0 && fault.device != i) continue;
    catch_up(block, block.devices[i], Until::kNow);
    PJ_CHECK(set_device_fault(block.devices[i], fault));
  }
  return {};
}

void World::clear_faults() {
  ControlBlock& block = mapping_.block();
  ControlLock lock(block);
  block.call_fault_count = 0;
  copy_text(block.driver_version, kDriver);
  for (int i = 0; i < block.device_count; ++i) {
    DeviceBlock& device = block.devices[i];
    catch_up(block, device, Until::kNow);
    device.faults = DeviceFaults{};
    device.mig_instances = 0;
    if (const auto model = find_gpu_model(device.key)) {
      const SensorSpec& spec = (*model)->sensor;
      device.sensor.tick_ms = spec.tick_ms;
      device.sensor.instant_window_ms = spec.instant_window_ms;
      device.sensor.average_window_ms = spec.average_window_ms;
      device.sensor.counter_covers_gaps = spec.counter_covers_gaps;
    }
  }
}

}  // namespace perjoule::twin

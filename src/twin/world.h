// A simulated machine from the side that owns it: tests and benchmarks, the launcher, workloads.
// What a client of the vendor's library sees of it goes through the stand-in (nvml_*.cc) alone.
//
//   PJ_TRY(World world, World::create(path, {"h100", "h100"}, ClockMode::kManual));
//   PJ_CHECK(world.run(0, {.flop = 1e15}));          // moves the manual clock
//   Joules exact = world.truth(0);
//
// All calls lock the control block, and bring the device up to now before they look or change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "twin/control_block.h"
#include "twin/fault.h"

namespace perjoule::twin {

class World {
 public:
  /// A machine of these devices (keys of gpu_models(), at most kMaxDevices) in a new file. Devices
  /// start at rest, cool, at their default limits.
  static Result<World> create(const std::string& path, const std::vector<std::string>& models,
                              ClockMode mode, double speed = 1);
  static Result<World> open(const std::string& path);
  /// The machine that PERJOULE_TWIN names.
  static Result<World> open_from_environment();

  int device_count() const { return mapping_.block().device_count; }
  std::string uuid(int device) const;
  Seconds now() const;
  /// Moves a manual clock; refused in real mode.
  Outcome advance(Seconds by);

  /// Posts a phase behind those already waiting; answers its ticket. The calling process, or `pid`,
  /// counts as its owner.
  Result<std::uint64_t> begin_phase(int device, const Phase& phase, int pid = 0);
  /// Drops everything posted: the device idles.
  Outcome end_phase(int device);
  /// Time until that phase ends if the clock stays as it is; zero when it has ended.
  Seconds remaining(int device, std::uint64_t ticket) const;
  /// Returns when the phase has ended: sleeps in real mode (in short steps, as the cap changes the
  /// rate), moves the clock in manual mode.
  Outcome wait(int device, std::uint64_t ticket);
  Outcome run(int device, const Phase& phase);

  /// Exact energy since creation, and exact power now.
  Joules truth(int device) const;
  Watts power(int device) const;

  Outcome set_limit(int device, Watts limit);
  /// Shown = gain * true + offset, from now on.
  Outcome set_sensor_error(int device, double gain, Watts offset);
  Outcome set_temperature(int device, double celsius);
  /// Processes that hold the device open without posting anything.
  Outcome attach(int device, int pid, std::uint64_t memory_bytes);
  Outcome detach(int device, int pid);
  /// All kinds but kMissing, which is done to the library (reduced_library.h).
  Outcome set_fault(const Fault& fault);
  void clear_faults();

  /// For the stand-in, replay and record, which live in this module.
  ControlMapping& mapping() { return mapping_; }

 private:
  explicit World(ControlMapping mapping) : mapping_(std::move(mapping)) {}
  Outcome check(int device) const;

  ControlMapping mapping_;
};

/// Fills a block as a fresh device of that model, number `index` of its machine.
void init_device(DeviceBlock& device, const GpuModel& model, int index);

}  // namespace perjoule::twin

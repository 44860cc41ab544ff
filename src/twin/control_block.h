// The memory that a simulated machine lives in: one file, mapped by whoever takes part (the test,
// the launcher, the workload, each client of the stand-in library), found by PERJOULE_TWIN.
//
// Everything in it is plain data behind one process-shared robust mutex; a process that dies with
// the lock held leaves a block that the next one makes consistent. Simulated time is either real
// (CLOCK_MONOTONIC since creation, times a speed) or manual (a field that tests move). Nobody runs
// in the background: whoever reads or posts first integrates each device up to now.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "twin/gpu_model.h"
#include "twin/sensor.h"
#include "twin/simulation.h"

namespace perjoule::twin {

constexpr char kEnvironmentVariable[] = "PERJOULE_TWIN";
constexpr std::uint64_t kMagic = 0x4e4957544c554f4a;  // "JOULTWIN"
constexpr std::uint32_t kVersion = 2;                 ///< of the layout: another one is refused
constexpr int kMaxDevices = 16;
constexpr int kMaxProcesses = 16;
constexpr int kMaxCallFaults = 32;
constexpr int kMaxClients = 64;

enum class ClockMode : int { kReal = 0, kManual = 1 };

/// A process that holds a device open.
struct ProcessBlock {
  int pid = 0;
  std::uint64_t memory_bytes = 0;
};

/// A fault of one library call, or of all ("*").
struct CallFault {
  char call[64] = {};
  int device = -1;  ///< -1: any
  int code = 0;     ///< return code; 0: only slow
  std::int64_t from_ns = 0;
  std::int64_t until_ns = -1;  ///< -1: for ever
  std::int64_t delay_ns = 0;
  int left = -1;  ///< how often it still strikes; -1: always
};

/// Faults of one device that are no fault of a single call.
struct DeviceFaults {
  SensorFaults sensor;
  std::int64_t lost_at_ns = -1;
  std::int64_t xid_at_ns = -1;
  std::uint64_t xid = 0;
  int process_stride = 24;  ///< bytes a row of the unversioned-layout process list
  bool setters_denied = false;
  double out_of_band_cap_w = 0;  ///< 0: none
};

/// One recorded moment of a real device, played back instead of the simulation.
struct ReplaySample {
  std::int64_t at_ns = 0;
  double counter_mj = 0;
  double usage_w = 0;
  double instant_w = 0;
  double average_w = 0;
  std::uint32_t utilization = 0;
  std::uint32_t memory_utilization = 0;
  std::uint32_t clock_mhz = 0;
  std::uint32_t memory_clock_mhz = 0;
  std::int32_t temperature_c = 0;
  std::uint32_t reserved = 0;
  std::uint64_t reasons = 0;
};

struct DeviceBlock {
  // What it says it is.
  char key[16] = {};
  char name[96] = {};
  char uuid[80] = {};
  char serial[32] = {};
  std::uint32_t minor = 0;
  std::uint32_t pci_domain = 0;
  std::uint32_t pci_bus = 0;
  std::uint32_t pci_device_id = 0;
  std::uint32_t architecture = 0;
  std::uint32_t cuda_major = 0;
  std::uint32_t cuda_minor = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t mig_slices_max = 0;
  std::uint64_t memory_bytes = 0;
  Support support;
  // Knobs.
  double limit_min_w = 0;
  double limit_default_w = 0;
  double limit_max_w = 0;
  double limit_w = 0;  ///< requested
  double locked_min_mhz = 0;
  double locked_max_mhz = 0;  ///< 0: no lock
  double memory_clock_mhz = 0;
  double application_default_mhz = 0;
  double application_mhz = 0;            ///< 0: not set
  std::uint32_t requested_profiles = 0;  ///< workload power profiles, a bit an id
  int persistence = 1;
  int mig_instances = 0;  ///< 0: MIG is off
  int cap_window_ms = 20;
  // Physics and sensors.
  Silicon silicon;
  SensorSpec sensor;
  Simulation simulation;
  SensorState shown;
  DeviceFaults faults;
  ProcessBlock processes[kMaxProcesses];
  // Playback: samples [replay_first, replay_first + replay_count) behind the block.
  std::uint64_t replay_first = 0;
  std::uint64_t replay_count = 0;
};

struct ControlBlock {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t size = 0;  ///< sizeof(ControlBlock) of the creator
  pthread_mutex_t mutex = {};
  ClockMode mode = ClockMode::kReal;
  double speed = 1;             ///< simulated seconds in a real one
  std::int64_t created_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t created_unix_ns = 0;
  std::int64_t manual_now_ns = 0;
  char driver_version[32] = {};
  int device_count = 0;
  DeviceBlock devices[kMaxDevices];
  CallFault call_faults[kMaxCallFaults];
  int call_fault_count = 0;
  int clients[kMaxClients] = {};  ///< pids that have the stand-in initialised
  std::uint64_t replay_total = 0;
};

/// The mapping; unmapped with its last owner.
class ControlMapping {
 public:
  /// A new file with a fresh block and room for `replay_total` samples; fails when it exists.
  static Result<ControlMapping> create(const std::string& path, std::uint64_t replay_total = 0);
  static Result<ControlMapping> open(const std::string& path);
  ControlMapping(ControlMapping&& other) noexcept;
  ControlMapping& operator=(ControlMapping&& other) noexcept;
  ControlMapping(const ControlMapping&) = delete;
  ControlMapping& operator=(const ControlMapping&) = delete;
  ~ControlMapping();

  ControlBlock& block() const { return *block_; }
  /// Whether this process may set what a driver lets its administrators set: root, and whoever made
  /// the machine.
  bool may_administer() const;
  ReplaySample* replay() const { return reinterpret_cast<ReplaySample*>(block_ + 1); }

 private:
  ControlMapping(ControlBlock* block, std::size_t bytes, std::uint32_t maker)
      : block_(block), bytes_(bytes), maker_(maker) {}
  ControlBlock* block_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t maker_ = 0;  ///< the user whose file it is
};

/// Holds the block's lock.
class ControlLock {
 public:
  explicit ControlLock(ControlBlock& block);
  ~ControlLock();
  ControlLock(const ControlLock&) = delete;
  ControlLock& operator=(const ControlLock&) = delete;
  void release();
  void acquire();

 private:
  ControlBlock& block_;
};

// All of the following are to be called with the lock held.

/// Simulated nanoseconds since creation.
std::int64_t now_ns(const ControlBlock& block);
std::int64_t unix_ns(const ControlBlock& block, std::int64_t simulated_ns);

/// Integrates one device to now: to the whole millisecond, which is all that sensors can show, or
/// exactly, as posts need it.
enum class Until { kMillisecond, kNow };
void catch_up(ControlBlock& block, DeviceBlock& device, Until until);
/// Moves a manual clock to the end of that phase (or nowhere, when it has ended).
void move_to_end(ControlBlock& block, DeviceBlock& device, std::uint64_t ticket);

/// What holds the device back now.
Controls controls_of(const DeviceBlock& device);
/// The limit that binds: the requested one, or an out-of-band cap below it.
double enforced_limit_w(const DeviceBlock& device);
/// The clock that locks allow.
double ceiling_mhz(const DeviceBlock& device);
/// Enters a process into the device's list, or drops those that are gone. The device is caught up
/// first: what is dropped held it until now.
void attach_process(DeviceBlock& device, int pid, std::uint64_t memory_bytes);
void drop_dead_processes(DeviceBlock& device);

}  // namespace perjoule::twin

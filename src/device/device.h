// A machine's power-drawing parts, each with its sources (what it can tell) and knobs (what it
// obeys). One file a vendor interface makes them; discovery.h collects them into an Inventory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "device/knob.h"
#include "device/source.h"

namespace perjoule {

enum class DeviceKind { kGpu, kCpu, kNode, kBattery };

std::string_view name_of(DeviceKind kind);  ///< "gpu", "cpu", "node", "battery"

struct DeviceInfo {
  std::string id;  ///< "gpu:GPU-8f2c...", "cpu:0"; stable across reboots, unlike an index
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;    ///< marketing name
  std::string vendor;  ///< "NVIDIA", "Intel", ...
  std::string driver;  ///< driver or interface version
  int index = 0;       ///< the vendor's own numbering
  std::string uuid;
  std::string pci;                     ///< "0000:65:00.0", as sysfs writes it
  std::vector<std::string> mig_uuids;  ///< of the slices an NVIDIA GPU is cut into
  /// NVIDIA: whether the driver stays loaded without a client; off, limits are lost with the last
  /// one.
  std::optional<bool> persistence;
  std::string note;  ///< what a reader must know: "MIG on: energy exists only for the whole GPU"
};

/// A look at a device; what it cannot tell is absent.
struct DeviceState {
  std::optional<Watts> power;
  std::optional<Watts> memory_power;
  std::optional<Watts> power_limit;
  std::optional<double> utilisation;         ///< 0 to 1: share of time any kernel ran
  std::optional<double> memory_utilisation;  ///< 0 to 1
  std::optional<Hertz> clock;
  std::optional<Hertz> memory_clock;
  std::optional<double> temperature;  ///< degrees Celsius
  std::optional<double> memory_used_bytes;
  std::optional<double> memory_total_bytes;
  std::optional<bool> persistence;            ///< as DeviceInfo::persistence, but now
  std::vector<std::string> throttle_reasons;  ///< "power cap", "thermal", ...; idle is not one
};

/// A process as the device sees it.
struct DeviceProcess {
  std::int64_t pid = 0;
  std::uint64_t memory_bytes = 0;
  double utilisation = 0;  ///< 0 to 1, share of the device's time; 0 when it cannot tell
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// The device's sources, owned by it and alive as long as it is.
  virtual std::vector<Source*> sources() = 0;
  virtual std::vector<Knob*> knobs() { return {}; }
  virtual DeviceState state() { return {}; }
  /// Processes that hold the device. Pids are the host's.
  virtual Result<std::vector<DeviceProcess>> processes() {
    return Error::not_supported("processes: " + info().id + " does not list them");
  }
};

/// Something that keeps a device from being measured or set, with the remedy.
struct Problem {
  std::string subject;  ///< device, file or library
  Error error;
};

/// What one interface found.
struct Discovered {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Problem> problems;
};

}  // namespace perjoule

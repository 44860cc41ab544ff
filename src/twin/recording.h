// What a real machine answers, written down and played back: each device's static answers, and a
// series of its readings. Recording goes through the vendor's library by its ABI; playing back
// makes a machine whose stand-in answers from the series instead of simulating.
//
// The file is JSON, schema "perjoule.recording.v1" (docs/twin.md). A reading that the device does
// not support is null.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule::twin {

struct RecordedSample {
  double at_s = 0;  ///< since the recording began
  std::optional<double> counter_mj;
  std::optional<double> usage_w;
  std::optional<double> instant_w;
  std::optional<double> average_w;
  std::optional<double> utilization;
  std::optional<double> memory_utilization;
  std::optional<double> clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> reasons;
};

struct RecordedDevice {
  std::string name;
  std::string uuid;
  std::string serial;
  double minor = 0;
  double pci_domain = 0;
  double pci_bus = 0;
  double pci_device_id = 0;
  double architecture = 0;
  double cuda_major = 0;
  double cuda_minor = 0;
  double memory_bytes = 0;
  double limit_min_w = 0;
  double limit_default_w = 0;
  double limit_max_w = 0;
  double limit_w = 0;
  double clock_min_mhz = 0;
  double clock_max_mhz = 0;
  double memory_clock_mhz = 0;
  std::vector<RecordedSample> samples;
};

struct Recording {
  std::string driver_version;
  std::vector<RecordedDevice> devices;
};

Json to_json(const Recording& recording);
Result<Recording> recording_from_json(const Json& json);
Result<Recording> read_recording(const std::string& path);

/// Polls the library at `library` (a name for the loader, or a path) every `period` for `length`.
Result<Recording> record(const std::string& library, Seconds length, Seconds period, Clock& clock);

/// A machine of the recording in a new file; its time is real. A device's last sample stays when
/// the series ends.
Outcome create_replay(const std::string& path, const Recording& recording, double speed = 1);

}  // namespace perjoule::twin

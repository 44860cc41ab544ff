#include "twin/recording.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/file.h"
#include "twin/control_block.h"

namespace perjoule::twin {
namespace {

constexpr char kSchema[] = "perjoule.recording.v1";

// The members of a sample, in the order of their columns in the file.
using SampleMember = std::optional<double> RecordedSample::*;
struct Column {
  const char* name;
  SampleMember member;
};
constexpr Column kColumns[] = {
    {"counter_mj", &RecordedSample::counter_mj},
    {"usage_w", &RecordedSample::usage_w},
    {"instant_w", &RecordedSample::instant_w},
    {"average_w", &RecordedSample::average_w},
    {"utilization", &RecordedSample::utilization},
    {"memory_utilization", &RecordedSample::memory_utilization},
    {"clock_mhz", &RecordedSample::clock_mhz},
    {"memory_clock_mhz", &RecordedSample::memory_clock_mhz},
    {"temperature_c", &RecordedSample::temperature_c},
    {"reasons", &RecordedSample::reasons},
};

struct Fact {
  const char* name;
  double RecordedDevice::*member;
};
constexpr Fact kFacts[] = {
    {"minor", &RecordedDevice::minor},
    {"pci_domain", &RecordedDevice::pci_domain},
    {"pci_bus", &RecordedDevice::pci_bus},
    {"pci_device_id", &RecordedDevice::pci_device_id},
    {"architecture", &RecordedDevice::architecture},
    {"cuda_major", &RecordedDevice::cuda_major},
    {"cuda_minor", &RecordedDevice::cuda_minor},
    {"memory_bytes", &RecordedDevice::memory_bytes},
    {"limit_min_w", &RecordedDevice::limit_min_w},
    {"limit_default_w", &RecordedDevice::limit_default_w},
    {"limit_max_w", &RecordedDevice::limit_max_w},
    {"limit_w", &RecordedDevice::limit_w},
    {"clock_min_mhz", &RecordedDevice::clock_min_mhz},
    {"clock_max_mhz", &RecordedDevice::clock_max_mhz},
    {"memory_clock_mhz", &RecordedDevice::memory_clock_mhz},
};

Json device_to_json(const RecordedDevice& device) {
  Json json = Json::object();
  json["name"] = device.name;
  json["uuid"] = device.uuid;
  json["serial"] = device.serial;
  for (const Fact& fact : kFacts) json[fact.name] = device.*fact.member;
  Json samples = Json::array();
  for (const RecordedSample& sample : device.samples) {
    Json row = Json::array();
    row.push_back(sample.at_s);
    for (const Column& column : kColumns) {
      const auto& value = sample.*column.member;
      row.push_back(value ? Json(*value) : Json());
    }
    samples.push_back(std::move(row));
  }
  json["samples"] = std::move(samples);
  return json;
}

Result<RecordedSample> sample_from_json(const Json& json) {
  const Json::Array* const row = json.as_array();
  if (row == nullptr || row->size() != 1 + std::size(kColumns) || !row->front().is_number()) {
    return Error::invalid_argument("a sample is not a row of time and " +
                                   std::to_string(std::size(kColumns)) + " readings");
  }
  RecordedSample sample;
  sample.at_s = *row->front().as_number();
  for (std::size_t i = 0; i < std::size(kColumns); ++i) {
    const Json& cell = (*row)[i + 1];
    if (!cell.is_null() && !cell.is_number()) {
      return Error::invalid_argument(std::string("not a number: ") + kColumns[i].name);
    }
    sample.*kColumns[i].member = cell.as_number();
  }
  return sample;
}

Result<RecordedDevice> device_from_json(const Json& json) {
  RecordedDevice device;
  const auto name = json.string("name");
  const auto uuid = json.string("uuid");
  if (!name || !uuid) return Error::invalid_argument("a device has no name or uuid");
  device.name = *name;
  device.uuid = *uuid;
  device.serial = json.string("serial").value_or("");
  for (const Fact& fact : kFacts) device.*fact.member = json.number(fact.name).value_or(0);
  const Json* const samples = json.find("samples");
  if (samples == nullptr || samples->as_array() == nullptr || samples->as_array()->empty()) {
    return Error::invalid_argument("a device has no samples: " + device.uuid);
  }
  for (const Json& row : *samples->as_array()) {
    PJ_TRY(RecordedSample sample, sample_from_json(row));
    if (!device.samples.empty() && sample.at_s < device.samples.back().at_s) {
      return Error::invalid_argument("samples are not in order of time: " + device.uuid);
    }
    device.samples.push_back(sample);
  }
  return device;
}

template <std::size_t N>
void copy_text(char (&into)[N], const std::string& text) {
  const std::size_t n = std::min(text.size(), N - 1);
  std::memcpy(into, text.data(), n);
  into[n] = '\0';
}

std::uint32_t whole(const std::optional<double>& value) {
  return static_cast<std::uint32_t>(std::clamp(value.value_or(0), 0.0, 4e9));
}

ReplaySample replay_sample(const RecordedSample& sample) {
  return {.at_ns = std::llround(sample.at_s * 1e9),
          .counter_mj = sample.counter_mj.value_or(0),
          .usage_w = sample.usage_w.value_or(0),
          .instant_w = sample.instant_w.value_or(0),
          .average_w = sample.average_w.value_or(0),
          .utilization = whole(sample.utilization),
          .memory_utilization = whole(sample.memory_utilization),
          .clock_mhz = whole(sample.clock_mhz),
          .memory_clock_mhz = whole(sample.memory_clock_mhz),
          .temperature_c =
              static_cast<std::int32_t>(std::clamp(sample.temperature_c.value_or(0), -300.0, 1e6)),
          .reasons = static_cast<std::uint64_t>(std::clamp(sample.reasons.value_or(0), 0.0, 9e15))};
}

void fill_device(DeviceBlock& block, const RecordedDevice& device) {
  block = DeviceBlock{};
  copy_text(block.key, "replay");
  copy_text(block.name, device.name);
  copy_text(block.uuid, device.uuid);
  copy_text(block.serial, device.serial);
  const auto number = [](double value) {
    return static_cast<std::uint32_t>(std::clamp(value, 0.0, 4294967295.0));
  };
  block.minor = number(device.minor);
  block.pci_domain = number(device.pci_domain);
  block.pci_bus = number(device.pci_bus);
  block.pci_device_id = number(device.pci_device_id);
  block.architecture = number(device.architecture);
  block.cuda_major = number(device.cuda_major);
  block.cuda_minor = number(device.cuda_minor);
  block.memory_bytes = static_cast<std::uint64_t>(std::clamp(device.memory_bytes, 1e9, 1e15));
  block.limit_min_w = device.limit_min_w;
  block.limit_default_w = device.limit_default_w;
  block.limit_max_w = device.limit_max_w;
  block.limit_w = device.limit_w;
  block.memory_clock_mhz = device.memory_clock_mhz;
  block.application_default_mhz = device.clock_max_mhz;
  block.silicon.clock_min_mhz = device.clock_min_mhz;
  block.silicon.clock_max_mhz = device.clock_max_mhz;
  block.silicon.clock_step_mhz = 15;
  const RecordedSample& first = device.samples.front();
  block.support.energy_counter = first.counter_mj.has_value();
  block.support.power_fields = first.instant_w.has_value() || first.average_w.has_value();
}

}  // namespace

Json to_json(const Recording& recording) {
  Json json = Json::object();
  json["schema"] = kSchema;
  json["driver_version"] = recording.driver_version;
  Json columns = Json::array();
  columns.push_back("at_s");
  for (const Column& column : kColumns) columns.push_back(column.name);
  json["columns"] = std::move(columns);
  Json devices = Json::array();
  for (const RecordedDevice& device : recording.devices) {
    devices.push_back(device_to_json(device));
  }
  json["devices"] = std::move(devices);
  return json;
}

Result<Recording> recording_from_json(const Json& json) {
  if (json.string("schema") != kSchema) {
    return Error::invalid_argument("not a recording of this version",
                                   std::string("the member \"schema\" must be ") + kSchema);
  }
  Recording recording;
  recording.driver_version = json.string("driver_version").value_or("");
  const Json* const devices = json.find("devices");
  if (devices == nullptr || devices->as_array() == nullptr || devices->as_array()->empty() ||
      devices->as_array()->size() > kMaxDevices) {
    return Error::invalid_argument("a recording has 1 to 16 devices");
  }
  for (const Json& entry : *devices->as_array()) {
    PJ_TRY(RecordedDevice device, device_from_json(entry));
    recording.devices.push_back(std::move(device));
  }
  return recording;
}

Result<Recording> read_recording(const std::string& path) {
  PJ_TRY(const std::string text, read_file(path));
  const Result<Json> json = parse_json(text);
  if (!json) return fail(json, path);
  const Result<Recording> recording = recording_from_json(*json);
  if (!recording) return fail(recording, path);
  return *recording;
}

Outcome create_replay(const std::string& path, const Recording& recording, double speed) {
  if (!(speed > 0)) return Error::invalid_argument("the twin's speed must be above 0");
  std::uint64_t total = 0;
  for (const RecordedDevice& device : recording.devices) total += device.samples.size();
  PJ_TRY(ControlMapping mapping, ControlMapping::create(path, total));
  ControlBlock& block = mapping.block();
  block.speed = speed;
  copy_text(block.driver_version, recording.driver_version);
  std::uint64_t next = 0;
  for (const RecordedDevice& device : recording.devices) {
    DeviceBlock& target = block.devices[block.device_count++];
    fill_device(target, device);
    target.replay_first = next;
    target.replay_count = device.samples.size();
    for (const RecordedSample& sample : device.samples) {
      mapping.replay()[next++] = replay_sample(sample);
    }
  }
  return {};
}

}  // namespace perjoule::twin

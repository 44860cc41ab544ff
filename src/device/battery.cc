#include "device/battery.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "device/plain_device.h"

namespace perjoule {
namespace {

constexpr Watts kMaxPower(300);

/// A number that drivers give with either sign; its size is meant.
Reading read_size(int fd) noexcept {
  char text[32];
  const ssize_t count = ::pread(fd, text, sizeof(text), 0);
  if (count < 0) return {code_of_errno(errno), 0};
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text, text + count, value);
  if (parsed.ec != std::errc() || parsed.ptr == text || value == INT64_MIN)
    return {ErrorCode::kDataLoss, 0};
  return {ErrorCode::kOk, static_cast<std::uint64_t>(std::abs(value))};
}

bool is_discharging(std::string_view status) { return trim(status) == "Discharging"; }

class BatterySource final : public Source {
 public:
  /// Power is `first`, or, with a second file, the product of microvolts and microamperes.
  BatterySource(SourceInfo info, FileDescriptor status, FileDescriptor first, FileDescriptor second)
      : info_(std::move(info)),
        status_(std::move(status)),
        first_(std::move(first)),
        second_(std::move(second)) {}
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    char status[32];
    const ssize_t count = ::pread(status_.get(), status, sizeof(status), 0);
    if (count < 0) return {code_of_errno(errno), 0};
    if (!is_discharging({status, static_cast<std::size_t>(count)}))
      return {ErrorCode::kUnavailable, 0};
    Reading power = read_size(first_.get());
    if (power.code != ErrorCode::kOk || !second_.valid()) return power;
    const Reading current = read_size(second_.get());
    if (current.code != ErrorCode::kOk) return current;
    power.micro = static_cast<std::uint64_t>(static_cast<double>(power.micro) * 1e-6 *
                                             static_cast<double>(current.micro));
    return power;
  }

 private:
  SourceInfo info_;
  FileDescriptor status_;
  FileDescriptor first_;
  FileDescriptor second_;
};

Result<std::unique_ptr<Source>> open_battery(const std::string& path, SourceInfo info) {
  PJ_TRY(FileDescriptor status, open_for_reading(path + "/status"));
  if (path_exists(path + "/power_now")) {
    PJ_TRY(FileDescriptor power, open_for_reading(path + "/power_now"));
    return std::unique_ptr<Source>(std::make_unique<BatterySource>(
        std::move(info), std::move(status), std::move(power), FileDescriptor()));
  }
  PJ_TRY(FileDescriptor voltage, open_for_reading(path + "/voltage_now"));
  PJ_TRY(FileDescriptor current, open_for_reading(path + "/current_now"));
  return std::unique_ptr<Source>(std::make_unique<BatterySource>(
      std::move(info), std::move(status), std::move(voltage), std::move(current)));
}

}  // namespace

Discovered discover_batteries(const Roots& roots) {
  Discovered found;
  const std::string root = roots.sysfs + "/class/power_supply";
  for (const std::string& name : list_folder(root)) {
    const std::string path = root + "/" + name;
    if (read_attribute(path + "/type").value_or("") != "Battery") continue;
    // Mice and headsets have batteries too.
    if (read_attribute(path + "/scope").value_or("System") == "Device") continue;
    const auto status = read_attribute(path + "/status");
    DeviceInfo device;
    device.id = "battery:" + name;
    device.kind = DeviceKind::kBattery;
    device.name = read_attribute(path + "/model_name").value_or(name);
    device.vendor = read_attribute(path + "/manufacturer").value_or("");
    device.driver = "power_supply";
    const bool discharging = status && is_discharging(*status);
    if (!discharging) device.note = "tells the machine's power only while it discharges";
    SourceInfo info;
    info.id = device.id;
    info.device = device.id;
    info.backend = "power_supply";
    info.scope = "machine";
    info.kind = SourceKind::kPowerGauge;
    info.boundary = Boundary::kNode;
    info.status =
        path_exists(roots.sysfs + "/perjoule-simulated") ? Status::kSimulated : Status::kMeasured;
    info.tick = Seconds(1);
    info.averaging = Seconds(1);
    info.quantum = 1e-3;
    info.gain = 0.05;
    info.offset = Watts(0.5);
    info.max_power = kMaxPower;
    info.overlaps = "cpu:0/package";  // it feeds everything in the machine
    auto box = std::make_unique<PlainDevice>(std::move(device));
    if (discharging) {
      auto source = open_battery(path, std::move(info));
      if (source) {
        box->add(std::move(*source));
      } else {
        found.problems.push_back({box->info().id, source.error()});
      }
    }
    found.devices.push_back(std::move(box));
  }
  return found;
}

}  // namespace perjoule

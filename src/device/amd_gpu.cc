#include "device/amd_gpu.h"

#include <fmt/format.h>

#include <cmath>

#include "base/file.h"
#include "device/amdgpu_metrics.h"
#include "device/plain_device.h"

namespace perjoule {
namespace {

constexpr double kTrueUnit = 1e6 / 65536;  // microjoules
constexpr double kGain = 0.05;
constexpr Watts kMaxPower(3000);
/// The driver renews its readings every millisecond; a stamp this old was cached by the library.
constexpr Seconds kStale(1);

class EnergyCounter final : public Source {
 public:
  EnergyCounter(SourceInfo info, std::shared_ptr<AmdGpuCalls> calls, const Clock& clock)
      : info_(std::move(info)), calls_(std::move(calls)), clock_(clock) {}
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    AmdEnergy energy;
    const ErrorCode code = calls_->energy(energy);
    if (code != ErrorCode::kOk) return {code, 0};
    const Instant now = clock_.now();
    if (energy.stamp_ns != stamp_ns_ || !seen_) {
      seen_ = true;
      stamp_ns_ = energy.stamp_ns;
      moved_at_ = now;
    } else if (now - moved_at_ > kStale) {
      return {ErrorCode::kUnavailable, 0};  // a frozen reading is no reading
    }
    return {ErrorCode::kOk, microjoules_of(energy)};
  }
  double busy() noexcept override {
    double share = -1;
    return calls_->busy(share) == ErrorCode::kOk ? share : -1;
  }

 private:
  SourceInfo info_;
  std::shared_ptr<AmdGpuCalls> calls_;
  const Clock& clock_;
  bool seen_ = false;
  std::uint64_t stamp_ns_ = 0;
  Instant moved_at_;
};

class PowerGauge final : public Source {
 public:
  PowerGauge(SourceInfo info, std::shared_ptr<AmdGpuCalls> calls)
      : info_(std::move(info)), calls_(std::move(calls)) {}
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    Reading reading;
    reading.code = calls_->power(reading.micro);
    return reading;
  }
  double busy() noexcept override {
    double share = -1;
    return calls_->busy(share) == ErrorCode::kOk ? share : -1;
  }

 private:
  SourceInfo info_;
  std::shared_ptr<AmdGpuCalls> calls_;
};

class PowerCap final : public Knob {
 public:
  PowerCap(KnobInfo info, std::shared_ptr<AmdGpuCalls> calls)
      : info_(std::move(info)), calls_(std::move(calls)) {}
  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override {
    AmdPowerCap cap;
    const ErrorCode code = calls_->power_cap(cap);
    if (code != ErrorCode::kOk)
      return tl::unexpected<Error>(Error{code, info_.id + ": cannot be read", ""});
    return fmt::format("{} W", static_cast<double>(cap.now) / 1e6);
  }
  Outcome set(const std::string& value) override {
    PJ_TRY(const double watts, knob_number(info_, value));
    const ErrorCode code =
        calls_->set_power_cap(static_cast<std::uint64_t>(std::llround(watts * 1e6)));
    if (code == ErrorCode::kOk) return {};
    const bool denied = code == ErrorCode::kPermissionDenied;
    return tl::unexpected<Error>(Error{code, info_.id + ": the driver refused " + value,
                                       denied ? "setting a power cap needs root" : ""});
  }

 private:
  KnobInfo info_;
  std::shared_ptr<AmdGpuCalls> calls_;
};

void add_cap(PlainDevice& device, const std::shared_ptr<AmdGpuCalls>& calls) {
  AmdPowerCap cap;
  if (calls->power_cap(cap) != ErrorCode::kOk || cap.maximum == 0) return;
  const auto watts = [](std::uint64_t microwatts) { return static_cast<double>(microwatts) / 1e6; };
  KnobInfo info;
  info.device = device.info().id;
  info.id = info.device + "/power-limit";
  info.name = "power limit";
  info.unit = "W";
  info.minimum = watts(cap.minimum);
  info.maximum = watts(cap.maximum);
  if (cap.usual > 0) info.default_value = fmt::format("{} W", watts(cap.usual));
  device.add(std::make_unique<PowerCap>(std::move(info), calls));
}

}  // namespace

std::string pci_of_bdf(std::uint64_t bdf) {
  // Bits 28 to 31 hold the partition of a GPU that is cut up: not part of the address.
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", (bdf >> 32U) & 0xFFFFFFFFU, (bdf >> 8U) & 0xFFU,
                     (bdf >> 3U) & 0x1FU, bdf & 0x7U);
}

std::uint64_t microjoules_of(const AmdEnergy& energy) {
  const double unit = static_cast<double>(energy.microjoules_per_count);
  // 15.3 and 15.259 are both roundings of the one unit; a library that left it out means it too.
  if (!(unit > 0) || std::abs(unit / kTrueUnit - 1) < 0.01)
    return microjoules_of_amd_count(energy.count);
  return static_cast<std::uint64_t>(static_cast<double>(energy.count) * unit);
}

std::unique_ptr<Device> make_amd_gpu(const Roots& roots, const Clock& clock, DeviceInfo description,
                                     const std::string& backend, std::shared_ptr<AmdGpuCalls> calls,
                                     std::vector<Problem>& problems) {
  auto device = std::make_unique<PlainDevice>(std::move(description));
  SourceInfo info;
  info.device = device->info().id;
  info.id = info.device;
  info.backend = backend;
  info.scope = "board";
  const bool simulated = path_exists(roots.sysfs + "/perjoule-simulated");
  info.status = simulated ? Status::kSimulated : Status::kMeasured;
  info.tick = Seconds(1e-3);
  info.gain = kGain;
  info.max_power = kMaxPower;

  AmdEnergy energy;
  const ErrorCode counts = calls->energy(energy);
  // A count of 0 is a guest's or an old chip's answer: absence, not zero joules.
  if (counts == ErrorCode::kOk && energy.count != 0) {
    SourceInfo counter = info;
    counter.quantum = kTrueUnit * 1e-6;
    device->add(std::make_unique<EnergyCounter>(counter, calls, clock));
  } else if (counts == ErrorCode::kPermissionDenied) {
    problems.push_back({info.id, Error{counts, backend + ": the energy counter may not be read",
                                       "join the groups render and video"}});
  }
  std::uint64_t microwatts = 0;
  if (calls->power(microwatts) == ErrorCode::kOk) {
    SourceInfo gauge = info;
    gauge.kind = SourceKind::kPowerGauge;
    if (!device->sources().empty()) {
      gauge.id = info.device + "/power";
      gauge.overlaps = info.device;
    }
    gauge.quantum = 1;
    device->add(std::make_unique<PowerGauge>(gauge, calls));
  }
  add_cap(*device, calls);
  return device;
}

}  // namespace perjoule

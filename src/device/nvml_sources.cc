#include "device/nvml_sources.h"

namespace perjoule {

NvmlSensor nvml_sensor_of(unsigned architecture, const std::string& name) {
  const auto ms = [](double milliseconds) { return Seconds(milliseconds * 1e-3); };
  if (architecture < nvml::kArchitectureTuring) return {ms(20), ms(10), 0.5, ms(10), 0.5};
  if (architecture == nvml::kArchitectureTuring) return {ms(100), ms(100), 1.0, ms(100), 1.0};
  if (architecture == nvml::kArchitectureAmpere) {
    // GA100 reports the moment, the other Ampere chips a one-second mean.
    const bool ga100 = name.find("A100") != std::string::npos ||
                       name.find("A800") != std::string::npos ||
                       name.find("A30") != std::string::npos;
    if (ga100) return {ms(101), ms(25), 0.25, ms(25), 0.25};
    return {ms(100), ms(1000), 1.0, ms(100), 1.0};
  }
  if (architecture == nvml::kArchitectureAda) return {ms(100), ms(1000), 1.0, ms(100), 1.0};
  return {ms(100), ms(1000), 1.0, ms(25), 0.25};
}

namespace {

/// NVML's stated accuracy, and the spread seen against external meters (gain within 6 % for most,
/// offset 5 W).
constexpr double kGain = 0.05;
constexpr Watts kOffset(5);

class NvmlSource : public Source {
 public:
  NvmlSource(std::shared_ptr<NvmlLibrary> library, nvml::Device handle, SourceInfo info)
      : library_(std::move(library)), handle_(handle), info_(std::move(info)) {}

  const SourceInfo& info() const noexcept override { return info_; }
  double busy() noexcept override {
    nvml::Utilization rates{};
    if (library_->utilization == nullptr ||
        library_->utilization(handle_, &rates) != nvml::kSuccess)
      return -1;
    return rates.gpu / 100.0;
  }

 protected:
  std::shared_ptr<NvmlLibrary> library_;
  nvml::Device handle_;
  SourceInfo info_;
};

class EnergyCounter final : public NvmlSource {
 public:
  using NvmlSource::NvmlSource;
  Reading read() noexcept override {
    unsigned long long millijoules = 0;
    const nvml::Return code = library_->device_energy(handle_, &millijoules);
    return {code_of_nvml(code), millijoules * 1000};
  }
};

class UsageGauge final : public NvmlSource {
 public:
  using NvmlSource::NvmlSource;
  Reading read() noexcept override {
    unsigned milliwatts = 0;
    const nvml::Return code = library_->device_power(handle_, &milliwatts);
    return {code_of_nvml(code), std::uint64_t{milliwatts} * 1000};
  }
};

class FieldGauge final : public NvmlSource {
 public:
  FieldGauge(std::shared_ptr<NvmlLibrary> library, nvml::Device handle, SourceInfo info,
             unsigned field, unsigned scope)
      : NvmlSource(std::move(library), handle, std::move(info)), field_(field), scope_(scope) {}
  Reading read() noexcept override {
    nvml::FieldValue value{};
    value.field_id = field_;
    value.scope_id = scope_;
    nvml::Return code = library_->field_values(handle_, 1, &value);
    if (code == nvml::kSuccess) code = value.result;
    return {code_of_nvml(code), std::uint64_t{value.value.u32} * 1000};
  }

 private:
  unsigned field_;
  unsigned scope_;
};

}  // namespace

Result<Watts> nvml_power_field(const NvmlLibrary& library, nvml::Device handle, unsigned field,
                               unsigned scope) {
  if (library.field_values == nullptr)
    return Error::not_supported("this driver has no field values");
  nvml::FieldValue value{};
  value.field_id = field;
  value.scope_id = scope;
  nvml::Return code = library.field_values(handle, 1, &value);
  if (code == nvml::kSuccess) code = value.result;
  if (code != nvml::kSuccess) return library.error(code, "reading a power field");
  return Watts(value.value.u32 * 1e-3);
}

std::vector<std::unique_ptr<Source>> nvml_sources(const std::shared_ptr<NvmlLibrary>& library,
                                                  nvml::Device handle, const std::string& device_id,
                                                  const std::string& name) {
  unsigned architecture = nvml::kArchitectureUnknown;
  if (library->device_architecture != nullptr) library->device_architecture(handle, &architecture);
  const NvmlSensor sensor = nvml_sensor_of(architecture, name);
  unsigned lowest_mw = 0;
  unsigned highest_mw = 0;
  if (library->power_limit_range != nullptr)
    library->power_limit_range(handle, &lowest_mw, &highest_mw);

  SourceInfo base;
  base.device = device_id;
  base.backend = "nvml";
  // On Grace-Hopper parts the counter and the gauge take in the whole module (GPU and CPU).
  base.scope = name.find("GH200") != std::string::npos ? "module" : "board";
  base.status = library->simulated() ? Status::kSimulated : Status::kMeasured;
  base.tick = sensor.tick;
  base.quantum = 1e-3;
  base.gain = kGain;
  base.offset = kOffset;
  // Excursions above the limit reach 1.3 times; twice is physically out of reach.
  if (highest_mw > 0) base.max_power = Watts(2e-3 * highest_mw);

  std::vector<std::unique_ptr<Source>> sources;
  unsigned long long millijoules = 0;
  // A vGPU and everything before Volta have no counter; that is absence, not zero joules.
  if (library->device_energy != nullptr &&
      library->device_energy(handle, &millijoules) == nvml::kSuccess) {
    SourceInfo info = base;
    info.id = device_id;
    info.kind = SourceKind::kEnergyCounter;
    sources.push_back(std::make_unique<EnergyCounter>(library, handle, info));
  }
  const auto gauge_info = [&](const char* suffix, Seconds averaging, double coverage) {
    SourceInfo info = base;
    info.kind = SourceKind::kPowerGauge;
    // The first source of a device bears its plain id and is the one to sum.
    info.id = sources.empty() ? device_id : device_id + suffix;
    info.overlaps = sources.empty() ? "" : device_id;
    info.averaging = averaging;
    info.coverage = coverage;
    return info;
  };
  if (nvml_power_field(*library, handle, nvml::kFieldPowerInstant, nvml::kScopeGpu)) {
    SourceInfo info =
        gauge_info("/power-instant", sensor.instant_averaging, sensor.instant_coverage);
    sources.push_back(std::make_unique<FieldGauge>(library, handle, info, nvml::kFieldPowerInstant,
                                                   nvml::kScopeGpu));
  }
  unsigned milliwatts = 0;
  if (library->device_power != nullptr &&
      library->device_power(handle, &milliwatts) == nvml::kSuccess) {
    SourceInfo info = gauge_info("/power", sensor.averaging, sensor.coverage);
    sources.push_back(std::make_unique<UsageGauge>(library, handle, info));
  }
  // Scope 2 is memory in the constants and something else in one header's comment: believe it only
  // when it is below the whole board's power. Zero means unsupported.
  const auto memory =
      nvml_power_field(*library, handle, nvml::kFieldPowerAverage, nvml::kScopeMemory);
  if (memory && memory->value() > 0 && (milliwatts == 0 || memory->value() < milliwatts * 1e-3)) {
    SourceInfo info = gauge_info("/memory-power", sensor.averaging, 1.0);
    info.scope = "memory";
    sources.push_back(std::make_unique<FieldGauge>(library, handle, info, nvml::kFieldPowerAverage,
                                                   nvml::kScopeMemory));
  }
  return sources;
}

}  // namespace perjoule

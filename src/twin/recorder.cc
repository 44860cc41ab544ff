// The recording half of recording.h: polls the vendor's library by its ABI.
#include <dlfcn.h>

#include <algorithm>
#include <memory>

#include "device/nvml_abi.h"
#include "twin/recording.h"

namespace perjoule::twin {
namespace {

constexpr std::size_t kMostSamples = 1'000'000;  // of one device

/// The library, opened; a function it lacks answers kFunctionNotFound.
class Library {
 public:
  static Result<Library> open(const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
      return Error::unavailable("cannot open " + path + ": " + dlerror(),
                                "record on a machine with the vendor's driver");
    }
    Library library(handle);
    if (const int code = library.call("nvmlInit_v2"); code != nvml::kSuccess) {
      return Error::unavailable("the driver does not start: NVML code " + std::to_string(code));
    }
    return library;
  }
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Library& operator=(Library&&) = delete;
  ~Library() {
    if (handle_ == nullptr) return;
    call("nvmlShutdown");
    dlclose(handle_);
  }

  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(handle_, name));
    return function == nullptr ? nvml::kFunctionNotFound : function(arguments...);
  }

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
};

std::string text_of(const Library& library, const char* name, nvml::Device device) {
  char text[128] = {};
  return library.call(name, device, text, unsigned{sizeof text}) == nvml::kSuccess ? text : "";
}

template <typename Number = unsigned>
std::optional<double> number_of(const Library& library, const char* name, nvml::Device device,
                                double factor = 1) {
  Number value = 0;
  if (library.call(name, device, &value) != nvml::kSuccess) return std::nullopt;
  return static_cast<double>(value) * factor;
}

std::optional<double> clock_of(const Library& library, const char* name, nvml::Device device,
                               unsigned type) {
  unsigned clock = 0;
  if (library.call(name, device, type, &clock) != nvml::kSuccess) return std::nullopt;
  return clock;
}

std::optional<double> field_of(const Library& library, nvml::Device device, unsigned id) {
  nvml::FieldValue field = {};
  field.field_id = id;
  if (library.call("nvmlDeviceGetFieldValues", device, 1, &field) != nvml::kSuccess ||
      field.result != nvml::kSuccess || field.value_type != nvml::kValueUnsigned) {
    return std::nullopt;
  }
  return field.value.u32 * 1e-3;
}

void read_identity(const Library& library, nvml::Device device, RecordedDevice& into) {
  into.name = text_of(library, "nvmlDeviceGetName", device);
  into.uuid = text_of(library, "nvmlDeviceGetUUID", device);
  into.serial = text_of(library, "nvmlDeviceGetSerial", device);
  into.minor = number_of(library, "nvmlDeviceGetMinorNumber", device).value_or(0);
  into.architecture =
      number_of(library, "nvmlDeviceGetArchitecture", device).value_or(nvml::kArchitectureUnknown);
  nvml::PciInfo pci = {};
  if (library.call("nvmlDeviceGetPciInfo_v3", device, &pci) == nvml::kSuccess) {
    into.pci_domain = pci.domain;
    into.pci_bus = pci.bus;
    into.pci_device_id = pci.pci_device_id;
  }
  int major = 0;
  int minor = 0;
  if (library.call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor) ==
      nvml::kSuccess) {
    into.cuda_major = major;
    into.cuda_minor = minor;
  }
  nvml::Memory memory = {};
  if (library.call("nvmlDeviceGetMemoryInfo", device, &memory) == nvml::kSuccess) {
    into.memory_bytes = static_cast<double>(memory.total);
  }
}

void read_limits(const Library& library, nvml::Device device, RecordedDevice& into) {
  unsigned min = 0;
  unsigned max = 0;
  if (library.call("nvmlDeviceGetPowerManagementLimitConstraints", device, &min, &max) ==
      nvml::kSuccess) {
    into.limit_min_w = min * 1e-3;
    into.limit_max_w = max * 1e-3;
  }
  into.limit_default_w =
      number_of(library, "nvmlDeviceGetPowerManagementDefaultLimit", device, 1e-3).value_or(0);
  into.limit_w = number_of(library, "nvmlDeviceGetPowerManagementLimit", device, 1e-3).value_or(0);
  into.clock_max_mhz =
      clock_of(library, "nvmlDeviceGetMaxClockInfo", device, nvml::kClockSm).value_or(0);
  into.memory_clock_mhz =
      clock_of(library, "nvmlDeviceGetMaxClockInfo", device, nvml::kClockMemory).value_or(0);
  unsigned count = 1024;
  unsigned clocks[1024];
  if (library.call("nvmlDeviceGetSupportedGraphicsClocks", device,
                   static_cast<unsigned>(into.memory_clock_mhz), &count,
                   &clocks[0]) == nvml::kSuccess &&
      count > 0) {
    into.clock_min_mhz = *std::min_element(clocks, clocks + std::min(count, 1024U));
  }
}

RecordedSample read_sample(const Library& library, nvml::Device device, double at_s) {
  RecordedSample sample;
  sample.at_s = at_s;
  sample.counter_mj =
      number_of<unsigned long long>(library, "nvmlDeviceGetTotalEnergyConsumption", device);
  sample.usage_w = number_of(library, "nvmlDeviceGetPowerUsage", device, 1e-3);
  sample.instant_w = field_of(library, device, nvml::kFieldPowerInstant);
  sample.average_w = field_of(library, device, nvml::kFieldPowerAverage);
  nvml::Utilization rates = {};
  if (library.call("nvmlDeviceGetUtilizationRates", device, &rates) == nvml::kSuccess) {
    sample.utilization = rates.gpu;
    sample.memory_utilization = rates.memory;
  }
  sample.clock_mhz = clock_of(library, "nvmlDeviceGetClockInfo", device, nvml::kClockSm);
  sample.memory_clock_mhz = clock_of(library, "nvmlDeviceGetClockInfo", device, nvml::kClockMemory);
  unsigned celsius = 0;
  if (library.call("nvmlDeviceGetTemperature", device, 0U, &celsius) == nvml::kSuccess) {
    sample.temperature_c = celsius;
  }
  sample.reasons =
      number_of<unsigned long long>(library, "nvmlDeviceGetCurrentClocksEventReasons", device);
  if (!sample.reasons) {
    sample.reasons =
        number_of<unsigned long long>(library, "nvmlDeviceGetCurrentClocksThrottleReasons", device);
  }
  return sample;
}

}  // namespace

Result<Recording> record(const std::string& path, Seconds length, Seconds period, Clock& clock) {
  if (!(period.value() > 0) || length.value() / period.value() > kMostSamples) {
    return Error::invalid_argument("a recording takes at most a million samples of a device",
                                   "record for less time, or less often");
  }
  PJ_TRY(const Library library, Library::open(path));
  Recording recording;
  char version[96] = {};
  if (library.call("nvmlSystemGetDriverVersion", &version[0], unsigned{sizeof version}) ==
      nvml::kSuccess) {
    recording.driver_version = version;
  }
  unsigned count = 0;
  library.call("nvmlDeviceGetCount_v2", &count);
  std::vector<nvml::Device> handles;
  for (unsigned i = 0; i < count; ++i) {
    nvml::Device handle = nullptr;
    // A device that we may not use is counted all the same: leave it out.
    if (library.call("nvmlDeviceGetHandleByIndex_v2", i, &handle) != nvml::kSuccess) continue;
    handles.push_back(handle);
    RecordedDevice& device = recording.devices.emplace_back();
    read_identity(library, handle, device);
    read_limits(library, handle, device);
  }
  if (handles.empty()) return Error::unavailable("the driver knows no device that we may use");
  const Instant begin = clock.now();
  for (Instant next = begin; next - begin <= length; next = next + period) {
    clock.sleep_until(next);
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const double at_s = (clock.now() - begin).value();
      recording.devices[i].samples.push_back(read_sample(library, handles[i], at_s));
    }
  }
  return recording;
}

}  // namespace perjoule::twin

#include "device/amd_smi.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shared_library.h"
#include "device/amd_gpu.h"
#include "device/hwmon.h"

namespace perjoule {
namespace {

using Status32 = unsigned;  // amdsmi_status_t
using Handle = void*;       // amdsmi_socket_handle, amdsmi_processor_handle

constexpr Status32 kSuccess = 0;
constexpr std::uint64_t kInitGpus = 2;
constexpr unsigned kMostHandles = 4096;
/// A cap below this in "microwatts" is one of the releases that gave watts.
constexpr std::uint64_t kLowestMicrowatts = 100'000;

ErrorCode code_of(Status32 status) noexcept {
  switch (status) {
    case kSuccess:
      return ErrorCode::kOk;
    case 1:   // invalid arguments
    case 17:  // input out of bounds
      return ErrorCode::kInvalidArgument;
    case 2:  // not supported
    case 3:  // not yet implemented
    case 5:  // symbol missing
      return ErrorCode::kNotSupported;
    case 8:
      return ErrorCode::kTimeout;
    case 10:
      return ErrorCode::kPermissionDenied;
    case 30:
      return ErrorCode::kConflict;
    case 31:  // not found
    case 40:  // no data
      return ErrorCode::kNotFound;
    default:
      return ErrorCode::kUnavailable;
  }
}

/// amdsmi_power_info_t is 68 bytes here and longer in later releases, where its first member has
/// become 64 bits wide: its low half stays where the watts were.
struct PowerInfo {
  std::uint32_t current;  ///< W
  std::uint32_t average;  ///< W
  std::uint32_t more[126];
};
struct PowerCapInfo {
  std::uint64_t cap, usual, dpm, minimum, maximum;
  std::uint64_t more[11];
};
struct EngineUsage {
  std::uint32_t graphics, memory, media;
  std::uint32_t more[29];
};

class AmdSmi {
 public:
  static Result<std::shared_ptr<AmdSmi>> open(const std::string& path) {
    PJ_TRY(SharedLibrary library, SharedLibrary::open(path));
    std::shared_ptr<AmdSmi> smi(new AmdSmi(std::move(library)));
    if (smi->init == nullptr || smi->sockets == nullptr || smi->processors == nullptr ||
        smi->bdf == nullptr) {
      return Error::not_supported(path + ": lacks the functions that list GPUs");
    }
    if (const Status32 status = smi->init(kInitGpus); status != kSuccess) {
      smi->shut_down = nullptr;
      return tl::unexpected<Error>(Error{
          code_of(status), fmt::format("AMD SMI: initialising failed with status {}", status), ""});
    }
    return smi;
  }
  ~AmdSmi() {
    if (shut_down != nullptr) shut_down();
  }
  AmdSmi(const AmdSmi&) = delete;
  AmdSmi& operator=(const AmdSmi&) = delete;

  /// All GPUs of all sockets.
  std::vector<Handle> gpus() const {
    std::vector<Handle> all;
    for (Handle socket : list([this](unsigned*n, Handle*out) { return sockets(n, out); })) {
      const auto of_socket =
          list([this, socket](unsigned* n, Handle* out) { return processors(socket, n, out); });
      all.insert(all.end(), of_socket.begin(), of_socket.end());
    }
    return all;
  }

  Status32 (*init)(std::uint64_t) = nullptr;
  Status32 (*shut_down)() = nullptr;
  Status32 (*sockets)(unsigned*, Handle*) = nullptr;
  Status32 (*processors)(Handle, unsigned*, Handle*) = nullptr;
  Status32 (*bdf)(Handle, std::uint64_t*) = nullptr;
  Status32 (*energy)(Handle, std::uint64_t*, float*, std::uint64_t*) = nullptr;
  Status32 (*power)(Handle, PowerInfo*) = nullptr;
  Status32 (*activity)(Handle, EngineUsage*) = nullptr;
  Status32 (*cap)(Handle, unsigned, PowerCapInfo*) = nullptr;
  Status32 (*set_cap)(Handle, unsigned, std::uint64_t) = nullptr;

 private:
  explicit AmdSmi(SharedLibrary library) : library_(std::move(library)) {
    library_.load(init, "amdsmi_init");
    library_.load(shut_down, "amdsmi_shut_down");
    library_.load(sockets, "amdsmi_get_socket_handles");
    library_.load(processors, "amdsmi_get_processor_handles");
    library_.load(bdf, "amdsmi_get_gpu_bdf_id");
    library_.load(energy, "amdsmi_get_energy_count");
    library_.load(power, "amdsmi_get_power_info");
    library_.load(activity, "amdsmi_get_gpu_activity");
    library_.load(cap, "amdsmi_get_power_cap_info");
    library_.load(set_cap, "amdsmi_set_power_cap");
  }

  template <typename Call>
  static std::vector<Handle> list(const Call& call) {
    unsigned count = 0;
    if (call(&count, nullptr) != kSuccess || count == 0 || count > kMostHandles) return {};
    std::vector<Handle> handles(count);
    if (call(&count, handles.data()) != kSuccess) return {};
    handles.resize(std::min<std::size_t>(count, handles.size()));
    return handles;
  }

  SharedLibrary library_;
};

class SmiCalls final : public AmdGpuCalls {
 public:
  SmiCalls(std::shared_ptr<AmdSmi> smi, Handle gpu) : smi_(std::move(smi)), gpu_(gpu) {}

  ErrorCode energy(AmdEnergy& out) noexcept override {
    if (smi_->energy == nullptr) return ErrorCode::kNotSupported;
    return code_of(smi_->energy(gpu_, &out.count, &out.microjoules_per_count, &out.stamp_ns));
  }
  ErrorCode power(std::uint64_t& microwatts) noexcept override {
    if (smi_->power == nullptr) return ErrorCode::kNotSupported;
    PowerInfo info{};
    const ErrorCode code = code_of(smi_->power(gpu_, &info));
    if (code != ErrorCode::kOk) return code;
    // Either may be absent: all bits of 16 or 32 set, or 0 for the mean.
    const auto told = [](std::uint32_t watts) { return watts != 0 && watts < 0xFFFFU; };
    if (!told(info.current) && !told(info.average))
      return info.current == 0 ? ErrorCode::kOk : ErrorCode::kNotSupported;
    microwatts = std::uint64_t{told(info.current) ? info.current : info.average} * 1'000'000;
    return ErrorCode::kOk;
  }
  ErrorCode busy(double& share) noexcept override {
    if (smi_->activity == nullptr) return ErrorCode::kNotSupported;
    EngineUsage usage{};
    const ErrorCode code = code_of(smi_->activity(gpu_, &usage));
    if (code == ErrorCode::kOk && usage.graphics > 100) return ErrorCode::kNotSupported;
    share = usage.graphics / 100.0;
    return code;
  }
  ErrorCode power_cap(AmdPowerCap& out) noexcept override {
    if (smi_->cap == nullptr) return ErrorCode::kNotSupported;
    PowerCapInfo info{};
    const ErrorCode code = code_of(smi_->cap(gpu_, 0, &info));
    if (code != ErrorCode::kOk) return code;
    const std::uint64_t unit = info.maximum < kLowestMicrowatts ? 1'000'000 : 1;
    out = {info.cap * unit, info.usual * unit, info.minimum * unit, info.maximum * unit};
    return code;
  }
  ErrorCode set_power_cap(std::uint64_t microwatts) noexcept override {
    if (smi_->set_cap == nullptr) return ErrorCode::kNotSupported;
    return code_of(smi_->set_cap(gpu_, 0, microwatts));
  }

 private:
  std::shared_ptr<AmdSmi> smi_;
  Handle gpu_;
};

}  // namespace

Discovered discover_amd_smi(const Roots& roots, const Clock& clock,
                            const std::vector<std::string>& known) {
  Discovered found;
  const auto smi = AmdSmi::open(roots.amd_smi);
  if (!smi) {
    if (smi.error().code != ErrorCode::kNotFound)
      found.problems.push_back({"AMD GPUs", smi.error()});
    return found;
  }
  int index = 0;
  std::vector<std::string> seen = known;
  for (Handle gpu : (*smi)->gpus()) {
    std::uint64_t bdf = 0;
    if (const Status32 status = (*smi)->bdf(gpu, &bdf); status != kSuccess) {
      found.problems.push_back({fmt::format("AMD GPU {}", index),
                                Error{code_of(status), "its PCI address cannot be read", ""}});
      continue;
    }
    DeviceInfo info = describe_amd_gpu(roots, pci_of_bdf(bdf));
    info.index = index++;
    // The partitions of one GPU share its address and its one meter.
    if (std::find(seen.begin(), seen.end(), info.pci) != seen.end()) continue;
    seen.push_back(info.pci);
    info.driver += " (AMD SMI)";
    found.devices.push_back(make_amd_gpu(roots, clock, std::move(info), "amd_smi",
                                         std::make_shared<SmiCalls>(*smi, gpu), found.problems));
  }
  return found;
}

}  // namespace perjoule

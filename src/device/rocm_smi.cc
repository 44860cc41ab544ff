#include "device/rocm_smi.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shared_library.h"
#include "device/amd_gpu.h"
#include "device/hwmon.h"

namespace perjoule {
namespace {

using Status32 = unsigned;  // rsmi_status_t

constexpr Status32 kSuccess = 0;

ErrorCode code_of(Status32 status) noexcept {
  switch (status) {
    case kSuccess:
      return ErrorCode::kOk;
    case 1:  // invalid arguments
    case 7:  // input out of bounds
      return ErrorCode::kInvalidArgument;
    case 2:  // not supported
    case 9:  // not yet implemented
      return ErrorCode::kNotSupported;
    case 4:
      return ErrorCode::kPermissionDenied;
    case 10:  // not found
    case 14:  // no data
      return ErrorCode::kNotFound;
    case 16:
      return ErrorCode::kConflict;
    default:
      return ErrorCode::kUnavailable;
  }
}

class RocmSmi {
 public:
  static Result<std::shared_ptr<RocmSmi>> open(const std::string& path) {
    PJ_TRY(SharedLibrary library, SharedLibrary::open(path));
    std::shared_ptr<RocmSmi> smi(new RocmSmi(std::move(library)));
    if (smi->init == nullptr || smi->count == nullptr || smi->pci == nullptr)
      return Error::not_supported(path + ": lacks the functions that list GPUs");
    if (const Status32 status = smi->init(0); status != kSuccess) {
      smi->shut_down = nullptr;
      return tl::unexpected<Error>(
          Error{code_of(status),
                fmt::format("ROCm SMI: initialising failed with status {}", status), ""});
    }
    return smi;
  }
  ~RocmSmi() {
    if (shut_down != nullptr) shut_down();
  }
  RocmSmi(const RocmSmi&) = delete;
  RocmSmi& operator=(const RocmSmi&) = delete;

  template <typename... Arguments>
  using Call = Status32(Arguments...);
  Call<std::uint64_t>* init = nullptr;
  Call<>* shut_down = nullptr;
  Call<unsigned*>* count = nullptr;
  Call<unsigned, std::uint64_t*>* pci = nullptr;
  Call<unsigned, std::uint64_t*, float*, std::uint64_t*>* energy = nullptr;
  Call<unsigned, std::uint64_t*>* socket_power = nullptr;
  Call<unsigned, unsigned, std::uint64_t*>* mean_power = nullptr;
  Call<unsigned, unsigned*>* busy = nullptr;
  Call<unsigned, unsigned, std::uint64_t*>* cap = nullptr;
  Call<unsigned, std::uint64_t*>* cap_default = nullptr;
  Call<unsigned, unsigned, std::uint64_t*, std::uint64_t*>* cap_range = nullptr;
  Call<unsigned, unsigned, std::uint64_t>* set_cap = nullptr;

 private:
  explicit RocmSmi(SharedLibrary library) : library_(std::move(library)) {
    library_.load(init, "rsmi_init");
    library_.load(shut_down, "rsmi_shut_down");
    library_.load(count, "rsmi_num_monitor_devices");
    library_.load(pci, "rsmi_dev_pci_id_get");
    library_.load(energy, "rsmi_dev_energy_count_get");
    library_.load(socket_power, "rsmi_dev_current_socket_power_get");
    library_.load(mean_power, "rsmi_dev_power_ave_get");
    library_.load(busy, "rsmi_dev_busy_percent_get");
    library_.load(cap, "rsmi_dev_power_cap_get");
    library_.load(cap_default, "rsmi_dev_power_cap_default_get");
    library_.load(cap_range, "rsmi_dev_power_cap_range_get");
    library_.load(set_cap, "rsmi_dev_power_cap_set");
  }
  SharedLibrary library_;
};

class RocmCalls final : public AmdGpuCalls {
 public:
  RocmCalls(std::shared_ptr<RocmSmi> smi, unsigned gpu) : smi_(std::move(smi)), gpu_(gpu) {}

  ErrorCode energy(AmdEnergy& out) noexcept override {
    if (smi_->energy == nullptr) return ErrorCode::kNotSupported;
    return code_of(smi_->energy(gpu_, &out.count, &out.microjoules_per_count, &out.stamp_ns));
  }
  ErrorCode power(std::uint64_t& microwatts) noexcept override {
    // MI300 has only the present power, older chips only the mean.
    if (smi_->socket_power != nullptr && smi_->socket_power(gpu_, &microwatts) == kSuccess)
      return ErrorCode::kOk;
    if (smi_->mean_power == nullptr) return ErrorCode::kNotSupported;
    return code_of(smi_->mean_power(gpu_, 0, &microwatts));
  }
  ErrorCode busy(double& share) noexcept override {
    if (smi_->busy == nullptr) return ErrorCode::kNotSupported;
    unsigned percent = 0;
    const ErrorCode code = code_of(smi_->busy(gpu_, &percent));
    if (code == ErrorCode::kOk && percent > 100) return ErrorCode::kNotSupported;
    share = percent / 100.0;
    return code;
  }
  ErrorCode power_cap(AmdPowerCap& out) noexcept override {
    if (smi_->cap == nullptr || smi_->cap_range == nullptr) return ErrorCode::kNotSupported;
    ErrorCode code = code_of(smi_->cap(gpu_, 0, &out.now));
    if (code != ErrorCode::kOk) return code;
    code = code_of(smi_->cap_range(gpu_, 0, &out.maximum, &out.minimum));
    if (smi_->cap_default != nullptr && smi_->cap_default(gpu_, &out.usual) != kSuccess)
      out.usual = 0;
    return code;
  }
  ErrorCode set_power_cap(std::uint64_t microwatts) noexcept override {
    if (smi_->set_cap == nullptr) return ErrorCode::kNotSupported;
    return code_of(smi_->set_cap(gpu_, 0, microwatts));
  }

 private:
  std::shared_ptr<RocmSmi> smi_;
  unsigned gpu_;
};

}  // namespace

Discovered discover_rocm_smi(const Roots& roots, const Clock& clock,
                             const std::vector<std::string>& known) {
  Discovered found;
  const auto smi = RocmSmi::open(roots.rocm_smi);
  if (!smi) {
    if (smi.error().code != ErrorCode::kNotFound)
      found.problems.push_back({"AMD GPUs", smi.error()});
    return found;
  }
  unsigned count = 0;
  if (const Status32 status = (*smi)->count(&count); status != kSuccess) {
    found.problems.push_back({"AMD GPUs", Error{code_of(status), "ROCm SMI: cannot count", ""}});
    return found;
  }
  std::vector<std::string> seen = known;
  for (unsigned index = 0; index < count; ++index) {
    std::uint64_t bdf = 0;
    if (const Status32 status = (*smi)->pci(index, &bdf); status != kSuccess) {
      found.problems.push_back({fmt::format("AMD GPU {}", index),
                                Error{code_of(status), "its PCI address cannot be read", ""}});
      continue;
    }
    DeviceInfo info = describe_amd_gpu(roots, pci_of_bdf(bdf));
    if (std::find(seen.begin(), seen.end(), info.pci) != seen.end()) continue;
    seen.push_back(info.pci);
    info.index = static_cast<int>(index);
    info.driver += " (ROCm SMI)";
    found.devices.push_back(make_amd_gpu(roots, clock, std::move(info), "rocm_smi",
                                         std::make_shared<RocmCalls>(*smi, index), found.problems));
  }
  return found;
}

}  // namespace perjoule

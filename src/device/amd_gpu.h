// An AMD GPU behind one of AMD's two libraries: what is the same for both, over the few calls in
// which they differ (amd_smi.cc, rocm_smi.cc).
//
// A GPU that several roads lead to is one device, told by its PCI address; AMD SMI is preferred to
// ROCm SMI, and both to sysfs.
//
// Traps: the energy counter is a bare count whose unit has to be applied (amdsmi#38: 0.34 kJ for
// 5.2 kJ); both libraries say 15.3 uJ where it is 2^-16 J = 15.2588 uJ; inside one process the
// count and its time stamp have been seen to stand still (rocm_smi_lib#180), which is then said
// instead of 0 J; caps came in W in some releases and in uW in others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

struct AmdEnergy {
  std::uint64_t count = 0;
  float microjoules_per_count = 0;  ///< as the library says it
  std::uint64_t stamp_ns = 0;       ///< the library's time of the count
};

struct AmdPowerCap {  ///< microwatts
  std::uint64_t now = 0;
  std::uint64_t usual = 0;
  std::uint64_t minimum = 0;
  std::uint64_t maximum = 0;
};

/// The calls on one GPU. A call that the library lacks answers kNotSupported.
class AmdGpuCalls {
 public:
  virtual ~AmdGpuCalls() = default;
  virtual ErrorCode energy(AmdEnergy& out) noexcept = 0;
  virtual ErrorCode power(std::uint64_t& microwatts) noexcept = 0;
  virtual ErrorCode busy(double& share) noexcept = 0;
  virtual ErrorCode power_cap(AmdPowerCap& out) noexcept = 0;
  virtual ErrorCode set_power_cap(std::uint64_t microwatts) noexcept = 0;
};

/// "0000:65:00.0" of the libraries' 64-bit address: domain, partition, bus, device, function.
std::string pci_of_bdf(std::uint64_t bdf);

/// Microjoules of a count: exact where the unit is the one that is meant by 15.3.
std::uint64_t microjoules_of(const AmdEnergy& energy);

/// The device, with what works as sources and knobs; what does not is told in `problems`.
std::unique_ptr<Device> make_amd_gpu(const Roots& roots, const Clock& clock, DeviceInfo info,
                                     const std::string& backend, std::shared_ptr<AmdGpuCalls> calls,
                                     std::vector<Problem>& problems);

}  // namespace perjoule

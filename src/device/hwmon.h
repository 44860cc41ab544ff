// Power and energy through the kernel's hwmon tree: what a machine tells without any vendor's
// library.
//
//   amdgpu         power of the board and its cap; energy from gpu_metrics beside it
//   i915, xe       energy of the card (and of the chip within it); often no power file at all, so
//                  power is never taken from one, and power1_crit is no limit a user may set
//   power_meter    ACPI: on Grace one meter each for Module, Grace, CPU and SysIO of a socket,
//   where
//                  Module contains the GPU and Grace contains CPU, SysIO and memory; elsewhere
//                  the node
//   amd_energy     energy of a socket, where powercap is not there
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// What other interfaces have found already and hwmon must not repeat.
struct HwmonContext {
  std::vector<std::string> pci;      ///< addresses of GPUs that a vendor's library serves
  std::vector<std::string> sources;  ///< ids of sources there are
  /// Id of a GPU counter that takes in its whole module (GH200): the CPU meters lie within it.
  std::string module_counter;
};

Discovered discover_hwmon(const Roots& roots, const HwmonContext& context = {});

/// One chip's folder.
struct HwmonChip {
  std::string path;
  std::string name;  ///< of the driver
  std::string pci;   ///< address of the device it is on; empty for others
};
std::vector<HwmonChip> list_hwmon(const Roots& roots);

/// "Grace Power Socket 1", "Esocket0": what a meter's label says.
struct HwmonLabel {
  enum class Kind { kModule, kGrace, kCpu, kSysIo, kSocket, kOther };
  Kind kind = Kind::kOther;
  int socket = 0;
};
HwmonLabel parse_hwmon_label(std::string_view label);

/// An AMD GPU's description by its PCI address: UUID as ROCm writes it ("GPU-" and the driver's
/// unique_id), so that every road to the GPU finds the same device.
DeviceInfo describe_amd_gpu(const Roots& roots, const std::string& pci);

/// The GPU of such a chip; null when the chip has no meter. Its problems go into `problems`.
std::unique_ptr<Device> make_amdgpu(const Roots& roots, const HwmonChip& chip, int index,
                                    std::vector<Problem>& problems);
std::unique_ptr<Device> make_intel_gpu(const Roots& roots, const HwmonChip& chip, int index,
                                       std::vector<Problem>& problems);

}  // namespace perjoule

// Which devices a user means, and which of the GPUs his job may use.
//
//   const VisibleDevices visible = visible_devices(infos, VisibleVariables::from_environment());
//   PJ_TRY(const Selection chosen, select_devices(infos, {"gpu", "cpu:0"}, visible));
//
// A word is: an id ("gpu:GPU-8f2c...", "cpu:0"), a UUID or any beginning of one that is unique,
// with or without "gpu:" before it, a PCI address ("0000:65:00.0", "65:00.0", NVML's eight-digit
// form), the vendor's own number of a GPU ("0" or "gpu:0": PCI order, never CUDA's), a MIG
// instance, or a kind: "gpu" (those visible), "cpu", "node", "battery", "all" (hidden ones too).
//
// The variables of CUDA, ROCm and the container runtime differ in what their numbers mean:
//
//   CUDA_VISIBLE_DEVICES    CUDA's order: fastest first unless CUDA_DEVICE_ORDER=PCI_BUS_ID; UUID
//                           beginnings; MIG UUIDs. Stops at the first entry that is not valid.
//   ROCR_VISIBLE_DEVICES    numbers in PCI order or UUIDs; then
//   HIP_VISIBLE_DEVICES     numbers among what ROCR left (CUDA_VISIBLE_DEVICES stands in for it).
//   NVIDIA_VISIBLE_DEVICES  the container runtime's: "all", "none", "void", NVML numbers or UUIDs
//   of
//                           the host. Inside the container it has been obeyed already, so that
//                           numbers that do not fit what is left are no longer ours to read.
// Empty or -1 hides all, and an unset variable hides nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/discovery.h"

namespace perjoule {

struct VisibleVariables {
  std::optional<std::string> cuda;    ///< CUDA_VISIBLE_DEVICES
  std::optional<std::string> nvidia;  ///< NVIDIA_VISIBLE_DEVICES
  std::optional<std::string> hip;     ///< HIP_VISIBLE_DEVICES
  std::optional<std::string> rocr;    ///< ROCR_VISIBLE_DEVICES
  std::string cuda_order;             ///< CUDA_DEVICE_ORDER

  static VisibleVariables from_environment();
};

struct VisibleDevices {
  std::vector<std::string> ids;     ///< of all devices but the hidden GPUs, in the machine's order
  std::vector<std::string> hidden;  ///< ids of the GPUs that the variables hide
  std::vector<std::string> notes;   ///< what a reader must know: who hides what, a doubtful order
};

VisibleDevices visible_devices(const std::vector<DeviceInfo>& devices,
                               const VisibleVariables& variables);

struct Selection {
  std::vector<std::string> devices;  ///< ids, in the machine's order, each once
  std::vector<std::string> notes;
};

/// The devices of those words; with no word the visible ones. not_found and invalid_argument (more
/// than one device fits) list the candidates.
Result<Selection> select_devices(const std::vector<DeviceInfo>& devices,
                                 const std::vector<std::string>& words,
                                 const VisibleDevices& visible);

struct ChosenSources {
  std::vector<Source*> sources;
  std::vector<std::string> ids;      ///< of the sources
  std::vector<std::string> devices;  ///< ids of their devices
  std::vector<std::string> notes;
};

/// A short word for each device that select_devices takes for it again: "gpu:0" where no other GPU
/// has that number, else its id.
std::vector<std::string> short_words(const std::vector<DeviceInfo>& devices);

/// The same for sources: a word may also be the id of one source ("cpu:0/package"), which then
/// comes without its device's others. unavailable when nothing is left to measure.
Result<ChosenSources> choose_sources(const Inventory& machine,
                                     const std::vector<std::string>& words,
                                     const VisibleVariables& variables);

}  // namespace perjoule

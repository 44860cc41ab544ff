// Where a device sits: PCIe link, NVLink, processors nearby.
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

unsigned link_generation(const DeviceBlock& device) {
  if (device.architecture >= nvml::kArchitectureHopper) return 5;
  return device.architecture >= nvml::kArchitectureAmpere ? 4 : 3;
}

}  // namespace

PJ_NVML nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  return answer(__func__, device, generation,
                [](const Call& call) { return link_generation(call.device); });
}
PJ_NVML nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  return answer(__func__, device, generation,
                [](const Call& call) { return link_generation(call.device); });
}
PJ_NVML nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* width) {
  return answer(__func__, device, width, [](const Call&) { return 16U; });
}
PJ_NVML nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  return answer(__func__, device, width, [](const Call&) { return 16U; });
}
PJ_NVML nvmlDeviceGetPcieThroughput(Device device, unsigned counter, unsigned* kilobytes_s) {
  if (counter > 1) return nvml::kInvalidArgument;
  return answer(__func__, device, kilobytes_s, [](const Call&) { return 0U; });
}
PJ_NVML nvmlDeviceGetPcieReplayCounter(Device device, unsigned* count) {
  return answer(__func__, device, count, [](const Call&) { return 0U; });
}

// All processors are near every device: the machine has one memory node.
PJ_NVML nvmlDeviceGetCpuAffinity(Device device, unsigned words, unsigned long* mask) {
  if (mask == nullptr || words == 0) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call&) {
    constexpr unsigned kBits = 8 * sizeof(unsigned long);
    const auto processors = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
    for (unsigned i = 0; i < words; ++i) {
      const unsigned here = processors > i * kBits ? std::min(processors - i * kBits, kBits) : 0;
      mask[i] = here == kBits ? ~0UL : (1UL << here) - 1;
    }
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceGetCpuAffinityWithinScope(Device device, unsigned words, unsigned long* mask,
                                            unsigned) {
  return nvmlDeviceGetCpuAffinity(device, words, mask);
}
PJ_NVML nvmlDeviceGetMemoryAffinity(Device device, unsigned words, unsigned long* mask, unsigned) {
  if (mask == nullptr || words == 0) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call&) {
    std::fill(mask, mask + words, 0UL);
    mask[0] = 1;
    return nvml::kSuccess;
  });
}
PJ_NVML nvmlDeviceGetNumaNodeId(Device device, unsigned* node) {
  return answer(__func__, device, node, [](const Call&) { return 0U; });
}

PJ_NVML nvmlDeviceGetTopologyCommonAncestor(Device first, Device second, unsigned* level) {
  constexpr unsigned kTopologySystem = 50;
  if (find_handle(second) == nullptr) return nvml::kInvalidArgument;
  return answer(__func__, first, level,
                [&](const Call&) { return first == second ? 0U : kTopologySystem; });
}

PJ_NVML nvmlDeviceGetNvLinkState(Device device, unsigned, unsigned* active) {
  return answer(__func__, device, active, [](const Call&) { return 0U; });
}
PJ_NVML nvmlDeviceGetNvLinkVersion(Device device, unsigned, unsigned*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned, nvml::PciInfo*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDeviceGetNvLinkRemotePciInfo(Device device, unsigned, void*) {
  return unsupported(__func__, device);
}

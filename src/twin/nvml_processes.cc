// Who uses a device. One symbol name has had three row layouts (16, 24 and 32 bytes) in real
// drivers; which one the newest names write is a fault setting.
#include <cstring>

#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

constexpr std::uint32_t kNoInstance = 0xffffffffU;

// A row of the largest layout; shorter ones are its beginning.
struct ProcessRow {
  std::uint32_t pid = 0;
  std::uint32_t padding = 0;
  std::uint64_t memory = 0;
  std::uint32_t gpu_instance = kNoInstance;
  std::uint32_t compute_instance = kNoInstance;
  std::uint64_t protected_memory = 0;
};
static_assert(sizeof(ProcessRow) == nvml::kProcessStrideR535);

nvml::Return list_processes(const Call& call, std::size_t stride, unsigned* count, void* rows) {
  catch_up(call.block, call.device, Until::kNow);
  drop_dead_processes(call.device);
  // In MIG mode processes belong to instances; the first one has them all here.
  const bool mig = call.device.mig_instances > 0;
  const bool here = !mig || (call.is_slice() && call.handle.slice == 0) || !call.is_slice();
  unsigned n = 0;
  for (const ProcessBlock& process : call.device.processes) {
    if (here && process.pid != 0) ++n;
  }
  const bool fits = n == 0 || (rows != nullptr && *count >= n);
  *count = n;
  if (!fits) return nvml::kInsufficientSize;
  auto* into = static_cast<char*>(rows);
  for (unsigned i = 0; i < n; ++i) {
    ProcessRow row;
    row.pid = static_cast<std::uint32_t>(call.device.processes[i].pid);
    row.memory = call.device.processes[i].memory_bytes;
    if (mig) row.gpu_instance = 1;
    if (mig) row.compute_instance = 0;
    std::memcpy(into + i * stride, &row, stride);
  }
  return nvml::kSuccess;
}

nvml::Return compute_processes(const char* name, Device device, bool first_layout, unsigned* count,
                               void* rows) {
  if (count == nullptr) return nvml::kInvalidArgument;
  return any_device_call(name, device, [&](const Call& call) {
    const auto set = static_cast<std::size_t>(call.device.faults.process_stride);
    return list_processes(call, first_layout ? nvml::kProcessStrideV1 : set, count, rows);
  });
}

nvml::Return no_processes(const char* name, Device device, unsigned* count) {
  return answer(name, device, count, [](const Call&) { return 0U; });
}

}  // namespace

PJ_NVML nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, void* rows) {
  return compute_processes(__func__, device, true, count, rows);
}
PJ_NVML nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, void* rows) {
  return compute_processes(__func__, device, false, count, rows);
}
PJ_NVML nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, void* rows) {
  return compute_processes(__func__, device, false, count, rows);
}
PJ_NVML nvmlDeviceGetGraphicsRunningProcesses(Device device, unsigned* count, void*) {
  return no_processes(__func__, device, count);
}
PJ_NVML nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned* count, void*) {
  return no_processes(__func__, device, count);
}
PJ_NVML nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count, void*) {
  return no_processes(__func__, device, count);
}
PJ_NVML nvmlDeviceGetMPSComputeRunningProcesses(Device device, unsigned* count, void*) {
  return no_processes(__func__, device, count);
}
PJ_NVML nvmlDeviceGetMPSComputeRunningProcesses_v2(Device device, unsigned* count, void*) {
  return no_processes(__func__, device, count);
}
PJ_NVML nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned* count, void*) {
  return no_processes(__func__, device, count);
}
PJ_NVML nvmlDeviceGetRunningProcessDetailList(Device device, void*) {
  return unsupported(__func__, device);
}
PJ_NVML nvmlDeviceGetProcessesUtilizationInfo(Device device, void*) {
  return unsupported(__func__, device);
}

PJ_NVML nvmlDeviceGetProcessUtilization(Device device, nvml::ProcessUtilizationSample* samples,
                                        unsigned* count, unsigned long long last_seen_us) {
  if (count == nullptr) return nvml::kInvalidArgument;
  return device_call(__func__, device, [&](const Call& call) {
    if (call.device.mig_instances > 0) return nvml::kNotSupported;
    const Readings now = call.read();
    const auto at = static_cast<unsigned long long>(
        unix_ns(call.block, call.device.shown.utilization_ns) / 1000);
    // The device runs one phase at a time: all of the last window is the newest owner's.
    const int pid = call.device.simulation.running_pid;
    if (pid == 0 || at <= last_seen_us) {
      *count = 0;
      return nvml::kNotFound;
    }
    const bool fits = samples != nullptr && *count >= 1;
    *count = 1;
    if (!fits) return nvml::kInsufficientSize;
    *samples = {static_cast<std::uint32_t>(pid), at, now.utilization, now.memory_utilization, 0, 0};
    return nvml::kSuccess;
  });
}

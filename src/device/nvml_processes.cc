#include "device/nvml_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace perjoule {
namespace {

DeviceProcess row_at(std::span<const unsigned char> buffer, std::size_t offset) {
  // All layouts begin alike: pid (4 bytes, 4 of padding), memory (8 bytes).
  DeviceProcess process;
  std::uint32_t pid = 0;
  std::memcpy(&pid, buffer.data() + offset, sizeof(pid));
  process.pid = pid;
  std::memcpy(&process.memory_bytes, buffer.data() + offset + 8, sizeof(process.memory_bytes));
  constexpr std::uint64_t kNotAvailable = ~std::uint64_t{0};
  if (process.memory_bytes == kNotAvailable) process.memory_bytes = 0;
  return process;
}

void add_utilisation(const NvmlLibrary& library, nvml::Device handle,
                     std::vector<DeviceProcess>& processes) {
  if (library.process_utilization == nullptr || processes.empty()) return;
  unsigned count = 0;
  library.process_utilization(handle, nullptr, &count, 0);
  if (count == 0 || count > 65536) return;
  std::vector<nvml::ProcessUtilizationSample> samples(count);
  if (library.process_utilization(handle, samples.data(), &count, 0) != nvml::kSuccess) return;
  samples.resize(std::min<std::size_t>(count, samples.size()));
  for (DeviceProcess& process : processes) {
    std::uint64_t newest = 0;
    for (const auto& sample : samples) {
      if (sample.pid != process.pid || sample.timestamp_us < newest || sample.sm > 100) continue;
      newest = sample.timestamp_us;
      process.utilisation = sample.sm / 100.0;
    }
  }
}

}  // namespace

std::size_t probe_process_stride(std::span<const unsigned char> buffer, unsigned count) {
  if (count == 0) return nvml::kProcessStrideV2;
  std::size_t written = buffer.size();
  while (written > 0 && buffer[written - 1] == kProcessSentinel) --written;
  // A row's tail may legitimately end in padding the driver left alone: the candidate is the
  // smallest known stride that holds everything written.
  for (const std::size_t stride :
       {nvml::kProcessStrideV1, nvml::kProcessStrideV2, nvml::kProcessStrideR535}) {
    if (written > stride * count || written + stride <= stride * count) continue;
    // Every row but the first begins with a pid whose padding was written or left as a whole.
    bool plausible = true;
    for (unsigned i = 0; i < count && plausible; ++i)
      plausible = row_at(buffer, i * stride).pid != 0xA5A5A5A5;
    if (plausible) return stride;
  }
  return 0;
}

Result<std::vector<DeviceProcess>> nvml_processes(const NvmlLibrary& library, nvml::Device handle,
                                                  const std::string& device_id) {
  auto call = library.compute_processes_v3;
  if (call == nullptr) call = library.compute_processes_v2;
  if (call == nullptr) call = library.compute_processes_v1;
  if (call == nullptr) return Error::not_supported(device_id + ": this driver lists no processes");
  // The library believes the buffer has room for `count` rows of its own layout: give it the
  // longest.
  for (unsigned room = 64; room <= 65536; room *= 4) {
    std::vector<unsigned char> buffer(room * nvml::kLargestProcessStride, kProcessSentinel);
    unsigned count = room;
    const nvml::Return code = call(handle, &count, buffer.data());
    if (code == nvml::kInsufficientSize) continue;
    if (code != nvml::kSuccess) return library.error(code, "listing the processes of " + device_id);
    const std::size_t stride = probe_process_stride(buffer, count);
    if (stride == 0) {
      return Error::data_loss(
          fmt::format("{}: the driver's process list has an unknown layout", device_id),
          "report the driver version");
    }
    std::vector<DeviceProcess> processes;
    for (unsigned i = 0; i < count; ++i) processes.push_back(row_at(buffer, i * stride));
    add_utilisation(library, handle, processes);
    return processes;
  }
  return Error::data_loss(device_id + ": the process list does not fit 65536 rows");
}

}  // namespace perjoule

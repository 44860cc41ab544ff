// The amdgpu driver's own table of a GPU's readings (sysfs gpu_metrics): the energy counter of AMD
// GPUs where neither of AMD's libraries is installed.
//
// A binary of several revisions whose fields move: what is known is read, anything else refused.
// All bits set means "this chip does not tell". Energy counts 2^-16 J = 15.2588 uJ since the driver
// was loaded; AMD's library says 15.3 and is 0.27 % high.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "device/source.h"

namespace perjoule {

struct AmdgpuMetrics {
  std::optional<std::uint64_t> energy;  ///< in 2^-16 J
  std::optional<Watts> socket_power;
};

/// The table of revision 1.3, 1.4 or 1.5. not_supported for any other, data_loss when it is cut
/// short.
Result<AmdgpuMetrics> parse_amdgpu_metrics(std::span<const unsigned char> table);

/// A count of 2^-16 J in whole microjoules.
constexpr std::uint64_t microjoules_of_amd_count(std::uint64_t count) {
  return (count >> 16U) * 1'000'000 + (((count & 0xFFFFU) * 1'000'000) >> 16U);
}

/// The counter in that file. not_supported when the table has none.
Result<std::unique_ptr<Source>> amdgpu_metrics_source(const std::string& path, SourceInfo info);

}  // namespace perjoule

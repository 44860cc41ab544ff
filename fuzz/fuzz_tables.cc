// Binary answers of hardware: the amdgpu driver's gpu_metrics and a management controller's DCMI
// power reading, cut short or of any revision.
#include <cmath>
#include <cstdlib>

#include "device/amdgpu_metrics.h"
#include "device/ipmi_dcmi.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perjoule;
  const std::span<const unsigned char> bytes(data, size);
  if (const auto metrics = parse_amdgpu_metrics(bytes); metrics && metrics->energy)
    (void)microjoules_of_amd_count(*metrics->energy);
  const auto power = parse_dcmi_power(bytes);
  const Reading reading = read_dcmi_power(bytes);
  // Both readers agree on what is an answer, and on the figure in it.
  if (power.has_value() != (reading.code == ErrorCode::kOk)) std::abort();
  if (power && std::llround(power->now.value() * 1e6) != static_cast<long long>(reading.micro))
    std::abort();
  return 0;
}

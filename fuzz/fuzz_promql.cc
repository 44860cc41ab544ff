// Answers of Prometheus servers: whatever is accepted has instants that rise, and the energy that
// is made of it is missing, or finite and not below 0.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "serving/engine/prometheus_power.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perjoule;
  const auto answer = parse_promql_answer({reinterpret_cast<const char*>(data), size});
  if (!answer) return 0;
  for (const PromSeries& series : answer->series) {
    for (std::size_t i = 1; i < series.points.size(); ++i) {
      if (!(series.points[i - 1].at < series.points[i].at)) std::abort();
    }
    (void)series.label("UUID");
  }
  const RemoteWindow window{.from = Seconds(10), .until = Seconds(70)};
  for (const auto& [counters, powers] :
       {std::pair(*answer, PromAnswer{}), std::pair(PromAnswer{}, *answer)}) {
    const auto drawn = remote_gpu_energy(counters, powers, window);
    if (!drawn) continue;
    for (const RemoteGpu& gpu : drawn->gpus) {
      if (gpu.energy.status == Status::kMissing) continue;
      if (!(gpu.energy.joules.value() >= 0) || !(gpu.energy.random.value() >= 0)) std::abort();
    }
  }
  return 0;
}

// Asks one NVIDIA GPU what only hardware can answer. Reads only, except that the power limit is set
// to the value it has. Prints lines for people and, with --json FILE, a document.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "device/nvml_knobs.h"
#include "device/nvml_library.h"
#include "device/nvml_sources.h"
#include "device/roots.h"
#include "load_probe.h"

namespace {

using namespace perjoule;

const RealClock kClock;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Times and sizes of the counter's steps over five seconds of polling.
void probe_counter(const NvmlLibrary& library, nvml::Device gpu, Json& report) {
  if (library.device_energy == nullptr) return;
  std::vector<double> gaps_ms;
  std::vector<double> steps_mj;
  unsigned long long last = 0;
  library.device_energy(gpu, &last);
  Instant changed = kClock.now();
  const Instant end = changed + Seconds(5);
  while (kClock.now() < end) {
    unsigned long long now_mj = 0;
    if (library.device_energy(gpu, &now_mj) != nvml::kSuccess) return;
    if (now_mj == last) continue;
    const Instant now = kClock.now();
    gaps_ms.push_back((now - changed).value() * 1e3);
    steps_mj.push_back(static_cast<double>(now_mj - last));
    changed = now;
    last = now_mj;
  }
  if (gaps_ms.empty()) return;
  gaps_ms.erase(gaps_ms.begin());
  std::sort(gaps_ms.begin(), gaps_ms.end());
  const double smallest = *std::min_element(steps_mj.begin(), steps_mj.end());
  fmt::print(
      "energy counter: {} steps in 5 s, median gap {:.2f} ms (p10 {:.2f}, p90 {:.2f}), smallest "
      "step {} mJ\n",
      gaps_ms.size(), median(gaps_ms), gaps_ms.empty() ? 0 : gaps_ms[gaps_ms.size() / 10],
      gaps_ms.empty() ? 0 : gaps_ms[gaps_ms.size() * 9 / 10], smallest);
  report["counter_steps"] = static_cast<std::int64_t>(gaps_ms.size());
  report["counter_gap_ms"] = median(gaps_ms);
  report["counter_smallest_step_mj"] = smallest;
}

void probe_fields(const NvmlLibrary& library, nvml::Device gpu, Json& report) {
  for (const unsigned field : {nvml::kFieldPowerAverage, nvml::kFieldPowerInstant}) {
    for (unsigned scope = 0; scope < 4; ++scope) {
      const auto power = nvml_power_field(library, gpu, field, scope);
      const std::string text = power ? to_text(*power) : std::string(name_of(power.error().code));
      fmt::print("field {} scope {}: {}\n", field, scope, text);
      report["fields"][fmt::format("{}/{}", field, scope)] = text;
    }
  }
}

template <typename Call>
double cost_us(const Call& call) {
  constexpr int kCalls = 1000;
  const Instant begin = kClock.now();
  for (int i = 0; i < kCalls; ++i) call();
  return (kClock.now() - begin).value() * 1e6 / kCalls;
}

void probe_costs(const NvmlLibrary& library, nvml::Device gpu, Json& report) {
  const auto say = [&](const char* name, double us) {
    fmt::print("cost of {}: {:.1f} us\n", name, us);
    report["cost_us"][name] = us;
  };
  unsigned long long energy = 0;
  unsigned power = 0;
  nvml::Utilization rates{};
  if (library.device_energy != nullptr)
    say("energy", cost_us([&] { library.device_energy(gpu, &energy); }));
  if (library.device_power != nullptr)
    say("power", cost_us([&] { library.device_power(gpu, &power); }));
  if (library.utilization != nullptr)
    say("utilization", cost_us([&] { library.utilization(gpu, &rates); }));
}

void probe_clocks(const NvmlLibrary& library, nvml::Device gpu, Json& report) {
  const std::vector<unsigned> clocks = nvml_graphics_clocks(library, gpu);
  if (clocks.empty()) return;
  fmt::print("graphics clocks: {} from {} to {} MHz\n", clocks.size(), clocks.back(),
             clocks.front());
  report["clocks"] = static_cast<std::int64_t>(clocks.size());
  report["lowest_clock_mhz"] = static_cast<std::int64_t>(clocks.back());
  report["highest_clock_mhz"] = static_cast<std::int64_t>(clocks.front());
}

void probe_setter(const NvmlLibrary& library, nvml::Device gpu, Json& report) {
  unsigned limit = 0;
  if (library.power_limit == nullptr || library.set_power_limit == nullptr) return;
  if (library.power_limit(gpu, &limit) != nvml::kSuccess) return;
  std::vector<double> ms;
  for (int i = 0; i < 20; ++i) {
    const Instant begin = kClock.now();
    if (const nvml::Return code = library.set_power_limit(gpu, limit); code != nvml::kSuccess) {
      fmt::print("setting the power limit: {}\n", name_of(code_of_nvml(code)));
      report["setter"] = name_of(code_of_nvml(code));
      return;
    }
    ms.push_back((kClock.now() - begin).value() * 1e3);
  }
  fmt::print("setting the power limit takes {:.2f} ms\n", median(ms));
  report["setter_ms"] = median(ms);
}

}  // namespace

int main(int argc, char** argv) {
  const auto library = NvmlLibrary::open(Roots::from_environment().nvml);
  if (!library) {
    fmt::print("skipped: {}\n", library.error().text());
    return 77;
  }
  nvml::Device gpu = nullptr;
  if ((*library)->device_by_index(0, &gpu) != nvml::kSuccess) {
    fmt::print("skipped: GPU 0 cannot be opened\n");
    return 77;
  }
  Json report = Json::object();
  report["schema"] = "perjoule.gpu-probe.v1";
  report["driver"] = (*library)->driver_version();
  report["simulated"] = (*library)->simulated();
  probe_counter(**library, gpu, report);
  probe_fields(**library, gpu, report);
  probe_costs(**library, gpu, report);
  probe_clocks(**library, gpu, report);
  probe_setter(**library, gpu, report);
  const auto tried = [&report](const char* what, const Outcome& outcome) {
    if (outcome) return;
    fmt::print("{}: {}\n", what, outcome.error().text());
    report["not_answered"][what] = outcome.error().text();
  };
  std::unique_ptr<GpuLoad> load;
  tried("samples", probe_samples(Roots::from_environment().nvml, gpu, report));
  tried("power", probe_power(**library, gpu, load, report));
  if (load != nullptr) {
    tried("square wave", probe_square_wave(**library, gpu, *load, report));
    tried("cap step", probe_cap_step(**library, gpu, *load, report));
  }
  if (argc == 3 && std::string_view(argv[1]) == "--json") {
    if (const Outcome written = write_file_atomically(argv[2], report.dump(2) + "\n"); !written) {
      fmt::print(stderr, "gpu_probe: {}\n", written.error().text());
      return 1;
    }
  }
  return 0;
}

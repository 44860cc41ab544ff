// The twin against what was published of real hardware: power-limit sweeps of training jobs, the
// gain from a duty cycle, a kernel choice that flips under the cap, and zeros against random data.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/file.h"
#include "figure.h"
#include "twin/gpu_model.h"
#include "twin/job_table.h"
#include "twin/physics.h"
#include "twin/world.h"

namespace pb = perjoule::bench;
using namespace perjoule::twin;  // NOLINT: the whole file is about it

namespace {

const Silicon& chip(const char* key) { return pb::must(find_gpu_model(key))->silicon; }

struct SweepError {
  double square = 0;
  double count = 0;
  std::string jobs = {};
  double rms() const { return count > 0 ? 100 * std::sqrt(square / count) : 0; }
};

/// Squared relative errors of time and energy over all limits, by device; one job apart.
std::map<std::string, SweepError> sweep_errors(const std::string& folder) {
  std::map<std::string, SweepError> errors;
  for (const Job& job : shipped_jobs()) {
    const bool volta = job.device == "v100-pcie";
    const auto measured =
        pb::must(read_zeus_sweep(folder + (volta ? "/V100+" : "/A40+") + job.name + "+gpu0.csv"));
    const Silicon& silicon = pb::must(find_gpu_model(job.device))->silicon;
    const double square = squared_error(simulate_sweep(job, silicon, measured), measured);
    const double count = 2 * static_cast<double>(measured.size());
    const bool apart = !volta && job.name == "resnet18";
    SweepError& error = errors[apart ? "a40-resnet18" : job.device];
    error.square += square;
    error.count += count;
    error.jobs += fmt::format("{}{} {:.2f}", error.jobs.empty() ? "" : ", ", job.name,
                              100 * std::sqrt(square / count));
  }
  return errors;
}

void print_sweeps() {
  const std::string folder =
      perjoule::environment("PERJOULE_DATA", std::string(PERJOULE_SOURCE_DIR) + "/../shared/data") +
      "/zeus_profiles";
  if (!perjoule::path_exists(folder)) {
    pb::print({.figure = "twin_v100",
               .unit = "%",
               .bar = "<= 3",
               .detail = "not run: there are no measured sweeps; set PERJOULE_DATA"});
    return;
  }
  auto errors = sweep_errors(folder);
  const double v100 = errors["v100-pcie"].rms();
  pb::print({.figure = "twin_v100",
             .value = v100,
             .unit = "% rms",
             .bar = "<= 3",
             .pass = v100 <= 3,
             .detail = "by job: " + errors["v100-pcie"].jobs});
  const double a40 = errors["a40"].rms();
  const double fourth = errors["a40-resnet18"].rms();
  SweepError all = errors["a40"];
  all.square += errors["a40-resnet18"].square;
  all.count += errors["a40-resnet18"].count;
  pb::print({.figure = "twin_a40",
             .value = a40,
             .unit = "% rms, three jobs",
             .bar = "<= 2",
             .pass = a40 <= 2,
             .detail = "by job: " + errors["a40"].jobs});
  pb::print(
      {.figure = "twin_a40_all",
       .value = all.rms(),
       .unit = "% rms, four jobs",
       .bar = "<= 2",
       .pass = all.rms() <= 2,
       .detail = fmt::format(
           "not met: the fourth job, ResNet-18, is off by {:.1f} %. Its measured times jump by "
           "15 % between neighbouring limits; no curve on which less power never means less "
           "time comes closer to it than 3.2 % (docs/twin.md, section 3)",
           fourth)});
}

/// MatMul FLOP/s while MatMul runs, in rounds of ten slots of 1 ms at the GB300's limit.
double matmul_rate(int matmul_slots) {
  const std::string path = "/tmp/perjoule-duty-" + std::to_string(::getpid());
  std::remove(path.c_str());
  World world = pb::must(World::create(path, {"gb300"}, ClockMode::kManual));
  const Silicon& s = chip("gb300");
  pb::must(world.set_temperature(0, s.reference_c));
  double seconds = 0;
  for (int round = 0; round < 150; ++round) {
    for (int slot = 0; slot < 10; ++slot) {
      const bool matmul = slot < matmul_slots;
      const double before = world.now().value();
      pb::must(world.run(0, matmul ? Phase{.flop = s.flop_per_s * 1e-3, .dram_share = 0.15}
                                   : Phase{.bytes = s.bytes_per_s * 0.9e-3, .activity = 0.1}));
      if (round >= 50 && matmul) seconds += world.now().value() - before;
    }
  }
  std::remove(path.c_str());
  return 100.0 * matmul_slots / seconds;
}

void print_duty_cycle() {
  const double always = matmul_rate(10);
  std::string curve;
  for (const int slots : {9, 8, 7, 6, 4, 2, 1})
    curve += fmt::format(" {}: {:.3f}", slots * 10, matmul_rate(slots) / always);
  const double gain = matmul_rate(5) / always;
  pb::print({.figure = "twin_duty_cycle",
             .value = gain,
             .unit = "x at 50 % duty",
             .bar = "1.19 +- 0.01",
             .pass = std::abs(gain - 1.19) <= 0.01,
             .detail = "GB300 at 1400 W, stepped simulation; by duty in %:" + curve});
}

double rate(const Silicon& silicon, const Phase& phase, double cap_w) {
  return 1 / settle(silicon, phase, cap_w, silicon.reference_c).period_s;
}

void print_kernel_choice() {
  const Silicon& h100 = chip("h100");
  const double coefficient = 0.775 * (h100.clock_c + h100.activity_c);
  const Phase k1{.flop = 1e12};
  const Phase k2{.flop = 1.045e12, .activity = (coefficient - h100.clock_c) / h100.activity_c};
  const auto gain = [&](double cap) {
    return 100 * (rate(h100, k2, cap) / rate(h100, k1, cap) - 1);
  };
  const double uncapped = gain(1e9);
  const double capped = gain(700);
  pb::print({.figure = "twin_kernel_uncapped",
             .value = uncapped,
             .unit = "%",
             .bar = "-4.5 +- 0.5",
             .pass = std::abs(uncapped + 4.5) <= 0.5,
             .detail = "H100, kernel of 0.775 the power a cycle and 4.5 % more cycles"});
  pb::print({.figure = "twin_kernel_capped",
             .value = capped,
             .unit = "%",
             .bar = "+10.2 +- 0.5",
             .pass = std::abs(capped - 10.2) <= 0.5,
             .detail = "the same pair at 700 W"});
}

void print_zero_data() {
  const Silicon& gb300 = chip("gb300");
  const Phase random{.flop = 1e12, .dram_share = 0.15};
  const Phase zeros{.flop = 1e12, .activity = 0.35, .dram_share = 0.15};
  const auto ratio = [&](double cap) { return rate(gb300, zeros, cap) / rate(gb300, random, cap); };
  const double least = ratio(1400);
  const double most = ratio(700);
  pb::print(
      {.figure = "twin_zero_data",
       .value = most,
       .unit = "x at 700 W",
       .bar = "1.2 to 2.13 by cap",
       // The published figures have two digits after the point at one end, one at the other.
       .pass = std::abs(least - 1.2) <= 0.05 && std::abs(most - 2.13) <= 0.03,
       .detail = fmt::format("GB300; at 1400, 1000, 800, 700 W: {:.2f}, {:.2f}, {:.2f}, {:.2f}",
                             least, ratio(1000), ratio(800), most)});
}

}  // namespace

int main() {
  print_sweeps();
  print_duty_cycle();
  print_kernel_choice();
  print_zero_data();
}

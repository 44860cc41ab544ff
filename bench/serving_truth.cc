// Joules a token as stated against the simulated GPU's truth: servers on eight simulated GPUs,
// loads over sockets in real time, sensors whose gain and offset are drawn anew for each run.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "device/nvml_device.h"
#include "figure.h"
#include "math/random.h"
#include "serving/bench/bench_figures.h"
#include "serving/load/token_lengths.h"
#include "twin/serve_http.h"
#include "twin/serve_loop.h"
#include "twin/world.h"

namespace pb = perjoule::bench;

namespace {

using namespace perjoule;

constexpr int kDevices = 8;
constexpr int kRounds = 13;
constexpr int kBatch = 16;
constexpr std::size_t kRequests = 200;
constexpr std::size_t kTimelineBytes = 8U << 20U;

/// What a simulated GPU really drew, looked up between two readings 2 ms apart.
class TruthCourse {
 public:
  TruthCourse(twin::World& world, int device)
      : thread_([this, &world, device](const std::stop_token& stop) {
          const RealClock clock;
          while (!stop.stop_requested()) {
            seen_.push_back({clock.now(), world.truth(device)});
            clock.sleep_until(clock.now() + Seconds(0.002));
          }
        }) {}
  Joules between(Instant from, Instant until) {
    if (thread_.joinable()) {
      thread_.request_stop();
      thread_.join();
    }
    return at(until) - at(from);
  }

 private:
  struct Seen {
    Instant at;
    Joules joules;
  };
  Joules at(Instant when) const {
    const auto after = std::lower_bound(seen_.begin(), seen_.end(), when,
                                        [](const Seen& one, Instant at) { return one.at < at; });
    const Seen& b = after == seen_.end() ? seen_.back() : *after;
    const Seen& a = after == seen_.begin() ? seen_.front() : *(after - 1);
    const Seconds span = b.at - a.at;
    if (!(span.value() > 0)) return b.joules;
    return a.joules + (b.joules - a.joules) * ((when - a.at) / span);
  }
  std::vector<Seen> seen_;
  std::jthread thread_;
};

struct Count {
  int runs = 0;
  int covered = 0;
  double error = 0;  ///< sum of relative errors' magnitudes
  double width = 0;  ///< sum of relative half-widths
  void add(const Energy& told, Joules truth) {
    const double error_now = std::abs(told.joules / truth - 1);
    const double width_now = told.expanded_uncertainty() / truth;
    ++runs;
    covered += error_now <= width_now ? 1 : 0;
    error += error_now;
    width += width_now;
  }
  std::string text() const {
    return fmt::format("{} of {} (mean error {:.2f} %, +- {:.2f} %)", covered, runs,
                       100 * error / std::max(1, runs), 100 * width / std::max(1, runs));
  }
};

RequestSet requests(std::uint64_t seed) {
  const LengthLaw prompt{LengthKind::kUniform, 150, 100};
  const LengthLaw output{LengthKind::kUniform, 40, 20};
  RequestShape shape;
  shape.model = "llama-3.1-8b";
  shape.takes_lengths = true;
  shape.has_fixed_length = true;
  return pb::must(
      make_requests(prompts_of_lengths(pb::must(drawn_lengths(prompt, output, kRequests, seed)),
                                       PromptForm::kWords, seed),
                    shape));
}

struct Told {
  std::vector<RuleFigures> rules;
  std::vector<Joules> truths;  ///< J a token, by rule
  std::size_t chosen = 0;      ///< what a user is told
};

Told one_run(twin::World& world, Device& device, int index, int port, std::uint64_t seed) {
  const RealClock clock;
  Meter meter(device.sources(), clock, kTimelineBytes);
  BenchSettings settings;
  settings.load.url = pb::must(HttpUrl::parse("http://127.0.0.1:" + std::to_string(port)));
  settings.load.token_variable.clear();
  settings.load.load = ClosedLoad{kBatch, kRequests};
  settings.load.most_delay =
      Seconds(1);  // eight loads on one machine; the delay is in the interval
  TruthCourse truth(world, index);
  const BenchRun run = pb::must(run_bench(meter, requests(seed), settings));
  const BenchFigures figures =
      pb::must(bench_figures(run, {.max_num_seqs = static_cast<std::size_t>(kBatch)}));
  Told told;
  for (const RuleFigures& rule : figures.rules) {
    if (!rule.window) continue;
    if (&rule == &figures.rule()) told.chosen = told.rules.size();
    told.rules.push_back(rule);
    told.truths.push_back(truth.between(rule.window->from, rule.window->until) /
                          static_cast<double>(rule.totals.output_tokens));
  }
  return told;
}

}  // namespace

int main() {
  const std::string path = "/tmp/perjoule-serving-" + std::to_string(::getpid());
  std::remove(path.c_str());
  twin::World world = pb::must(twin::World::create(path, std::vector<std::string>(kDevices, "h100"),
                                                   twin::ClockMode::kReal));
  ::setenv(twin::kEnvironmentVariable, path.c_str(), 1);
  Roots roots;
  roots.nvml = PERJOULE_STANDIN;
  const Discovered found = discover_nvml(roots);
  const RealClock clock;
  std::vector<std::unique_ptr<twin::ServeLoop>> loops;
  std::vector<std::unique_ptr<twin::HttpServer>> servers;
  for (int i = 0; i < kDevices; ++i) {
    twin::LoopSettings settings;
    settings.model = "llama-3.1-8b";
    settings.device = i;
    settings.max_num_seqs = kBatch;
    loops.push_back(pb::must(twin::ServeLoop::start(world, settings, clock)));
    servers.push_back(pb::must(twin::HttpServer::start(0, *loops.back())));
  }
  Count chosen, stationary, full_batch, whole;
  Random random(20);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kDevices; ++i) {
      const SourceInfo& info =
          found.devices[static_cast<std::size_t>(i)]->sources().front()->info();
      pb::must(world.set_sensor_error(i, 1 + info.gain * (2 * random.uniform() - 1),
                                      info.offset * (2 * random.uniform() - 1)));
    }
    // Until the sensors show the new error in all that they average over.
    clock.sleep_until(clock.now() + Seconds(1.5));
    std::vector<Told> told(kDevices);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kDevices; ++i) {
      threads.emplace_back([&, i, round] {
        told[static_cast<std::size_t>(i)] =
            one_run(world, *found.devices[static_cast<std::size_t>(i)], i,
                    servers[static_cast<std::size_t>(i)]->port(),
                    static_cast<std::uint64_t>(100 * round + i));
      });
    }
    threads.clear();
    for (const Told& one : told) {
      for (std::size_t r = 0; r < one.rules.size(); ++r) {
        Count& count = one.rules[r].rule == "stationary"   ? stationary
                       : one.rules[r].rule == "full batch" ? full_batch
                                                           : whole;
        count.add(one.rules[r].output_token, one.truths[r]);
        if (r == one.chosen) chosen.add(one.rules[r].output_token, one.truths[r]);
      }
    }
  }
  ::unsetenv(twin::kEnvironmentVariable);
  std::remove(path.c_str());
  const double share = 100.0 * chosen.covered / std::max(1, chosen.runs);
  pb::print(
      {.figure = "serving_truth",
       .value = share,
       .unit = "%",
       .bar = ">= 90",
       .pass = share >= 90 && chosen.runs >= 100,
       .detail = fmt::format("stated interval (k = 2) of J a token holds the simulated GPU's "
                             "truth in {}; by the stationary window {}, ML.ENERGY's {}, the "
                             "whole run {}",
                             chosen.text(), stationary.text(), full_batch.text(), whole.text())});
}

// Fits the twin's V100 and A40 to the power-limit sweeps that Zeus publishes and prints what
// src/twin/gpu_model.cc and data/twin_jobs.csv ship.
//
//   twin_fit FOLDER v100-pcie resnet50 resnet18 bert-base-uncased shufflenetv2
//   twin_fit FOLDER a40 resnet50 bert-base-uncased shufflenetv2 +resnet18
//
// A job with a plus sign is fitted on the device's parameters without having a say in them.
// Shared over the jobs of a device: P_stat, knee, V0/Vmax, clock floor, C_clk. Free in each job:
// work, activity, pace of the host. First by the closed-form steady state (nested downhill
// simplex), then the three job parameters once more on the stepped simulation.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "twin/gpu_model.h"
#include "twin/job_table.h"

namespace {

using namespace perjoule::twin;  // NOLINT: a tool of one page
using Vector = std::vector<double>;
using Cost = std::function<double(const Vector&)>;

constexpr double kForbidden = 1e3;

struct Sweep {
  std::string name;
  std::vector<SweepPoint> points;
  bool shapes_device = true;
};

// Nelder and Mead's downhill simplex; moves x to the best point found and answers its cost.
double minimise(const Cost& cost, Vector& x, const Vector& step, int iterations) {
  const std::size_t n = x.size();
  std::vector<std::pair<double, Vector>> simplex(n + 1, {0, x});
  for (std::size_t i = 0; i < n; ++i) simplex[i + 1].second[i] += step[i];
  for (auto& [value, at] : simplex) value = cost(at);
  const auto by_value = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (int iteration = 0; iteration < iterations; ++iteration) {
    std::sort(simplex.begin(), simplex.end(), by_value);
    Vector centre(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        centre[k] += simplex[i].second[k] / static_cast<double>(n);
      }
    }
    auto& worst = simplex[n];
    const auto tried = [&](double along) {
      Vector at(n);
      for (std::size_t k = 0; k < n; ++k) {
        at[k] = centre[k] + along * (worst.second[k] - centre[k]);
      }
      const double value = cost(at);
      return std::pair(value, at);
    };
    auto next = tried(-1);
    if (next.first < simplex[0].first) {
      auto further = tried(-2);
      if (further.first < next.first) next = further;
    } else if (next.first >= simplex[n - 1].first) {
      next = tried(next.first < worst.first ? -0.5 : 0.5);
    }
    if (next.first < worst.first) {
      worst = next;
      continue;
    }
    for (std::size_t i = 1; i <= n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        simplex[i].second[k] = (simplex[i].second[k] + simplex[0].second[k]) / 2;
      }
      simplex[i].first = cost(simplex[i].second);
    }
  }
  const auto best = std::min_element(simplex.begin(), simplex.end(), by_value);
  x = best->second;
  return best->first;
}

// Device parameters: P_stat, knee / f_max, V0 / Vmax, floor / f_max, C_clk / C_act-scale.
Silicon with(Silicon chip, const Vector& x) {
  chip.static_w = x[0];
  chip.knee_mhz = x[1] * chip.clock_max_mhz;
  chip.volt_low = x[2] * chip.volt_high;
  chip.clock_floor_mhz = x[3] * chip.clock_max_mhz;
  chip.clock_c = x[4];
  return chip;
}

// Bounds that keep the fit in the physical range; C_clk of the V100 by its idle power at full
// clock.
bool allowed(const Vector& x, bool volta) {
  return x[0] > 5 && x[0] < 110 && x[1] > 0.5 && x[1] < 0.97 && x[2] > (volta ? 0.8 : 0.75) &&
         x[2] < 1 && x[3] > 0.05 && x[3] < 0.5 && x[4] >= 0 && x[4] < (volta ? 0.045 : 0.08);
}

Job job_of(const Sweep& sweep, const Vector& y) { return {"", sweep.name, y[0], y[1], y[2]}; }

double steady_cost(const Silicon& chip, const Sweep& sweep, const Vector& y) {
  if (y[0] <= 0 || y[1] < 0.05 || y[2] < 0) return kForbidden;
  const Phase phase = step_of(job_of(sweep, y), chip, 1);
  std::vector<SweepPoint> simulated;
  for (const SweepPoint& point : sweep.points) {
    const SteadyState steady = settle(chip, phase, point.limit_w, chip.reference_c);
    simulated.push_back({point.limit_w, steady.period_s, steady.energy_j});
  }
  return squared_error(simulated, sweep.points);
}

double stepped_cost(const Silicon& chip, const Sweep& sweep, const Vector& y) {
  if (y[0] <= 0 || y[1] < 0.05 || y[2] < 0) return kForbidden;
  return squared_error(simulate_sweep(job_of(sweep, y), chip, sweep.points), sweep.points);
}

// The best per-job parameters under one set of device parameters, warm-started from `jobs`.
double fit_jobs(const Silicon& chip, const std::vector<Sweep>& sweeps, std::vector<Vector>& jobs,
                int iterations) {
  double sum = 0;
  for (std::size_t k = 0; k < sweeps.size(); ++k) {
    if (!sweeps[k].shapes_device) continue;
    const double t = jobs[k][0];
    sum += minimise([&](const Vector& y) { return steady_cost(chip, sweeps[k], y); }, jobs[k],
                    {0.05 * t, 0.05, 0.05 * t}, iterations);
  }
  return sum;
}

// What no model can go below whose time never falls with less power: the squared scatter of the
// measured times around their best monotone curve, with no error at all in energy.
double monotone_floor(const Sweep& sweep) {
  std::vector<std::pair<double, int>> blocks;  // mean of log time, count; limits fall along it
  for (const SweepPoint& point : sweep.points) {
    blocks.emplace_back(std::log(point.seconds), 1);
    while (blocks.size() > 1 && blocks[blocks.size() - 2].first > blocks.back().first) {
      const auto [mean, count] = blocks.back();
      blocks.pop_back();
      auto& before = blocks.back();
      before.first = (before.first * before.second + mean * count) / (before.second + count);
      before.second += count;
    }
  }
  double sum = 0;
  std::size_t i = 0;
  for (const auto& [mean, count] : blocks) {
    for (int k = 0; k < count; ++k, ++i) {
      sum += std::pow(std::log(sweep.points[i].seconds) - mean, 2);
    }
  }
  return sum;
}

void report(const Silicon& chip, const std::vector<Sweep>& sweeps, std::vector<Vector> jobs,
            const std::string& device) {
  std::printf("# P_stat %.2f W, knee %.0f MHz, V0 %.4f V, floor %.0f MHz, C_clk %.4f\n",
              chip.static_w, chip.knee_mhz, chip.volt_low, chip.clock_floor_mhz, chip.clock_c);
  double sum = 0;
  double floor = 0;
  std::size_t points = 0;
  for (std::size_t k = 0; k < sweeps.size(); ++k) {
    const auto cost = [&](const Vector& y) { return stepped_cost(chip, sweeps[k], y); };
    const double t = jobs[k][0];
    minimise([&](const Vector& y) { return steady_cost(chip, sweeps[k], y); }, jobs[k],
             {0.05 * t, 0.05, 0.05 * t}, 200);
    const double error = minimise(cost, jobs[k], {0.02 * t, 0.02, 0.02 * t}, 120);
    const std::size_t n = 2 * sweeps[k].points.size();
    const auto rms = [&](double squares) {
      return 100 * std::sqrt(squares / static_cast<double>(n));
    };
    std::printf("%s,%s,%.4f,%.4f,%.4f,%.2f,%.2f\n", device.c_str(), sweeps[k].name.c_str(),
                jobs[k][0], jobs[k][1], jobs[k][2], rms(error), rms(monotone_floor(sweeps[k])));
    sum += error;
    floor += monotone_floor(sweeps[k]);
    points += n;
  }
  std::printf("# rms %.3f %%; no monotone model below %.3f %%\n",
              100 * std::sqrt(sum / static_cast<double>(points)),
              100 * std::sqrt(floor / static_cast<double>(points)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: twin_fit FOLDER v100-pcie|a40 JOB...\n");
    return 2;
  }
  const auto model = find_gpu_model(argv[2]);
  if (!model) {
    std::fprintf(stderr, "twin_fit: %s\n", model.error().text().c_str());
    return 2;
  }
  const bool volta = (*model)->architecture == 5;
  std::vector<Sweep> sweeps;
  for (int i = 3; i < argc; ++i) {
    const bool shapes = argv[i][0] != '+';
    const std::string name = argv[i] + (shapes ? 0 : 1);
    const std::string path =
        std::string(argv[1]) + (volta ? "/V100+" : "/A40+") + name + "+gpu0.csv";
    auto points = read_zeus_sweep(path);
    if (!points) {
      std::fprintf(stderr, "twin_fit: %s\n", points.error().text().c_str());
      return 2;
    }
    sweeps.push_back({name, *points, shapes});
  }
  double best = kForbidden;
  Vector best_device;
  std::vector<Vector> best_jobs;
  for (const double static_w : {30.0, 55.0, 80.0}) {
    for (const double knee : {0.6, 0.7, 0.85}) {
      std::vector<Vector> jobs;
      for (const Sweep& sweep : sweeps) {
        const double t = sweep.points.front().seconds;
        jobs.push_back({0.8 * t, 0.8, 0.9 * t});
      }
      const auto cost = [&](const Vector& x) {
        return allowed(x, volta) ? fit_jobs(with((*model)->silicon, x), sweeps, jobs, 30)
                                 : kForbidden;
      };
      Vector x = {static_w, knee, 0.85, 0.25, 0.03};
      for (int round = 0; round < 3; ++round) {
        const double value = minimise(cost, x, {5, 0.05, 0.03, 0.05, 0.01}, 100);
        if (value < best) {
          best = value;
          best_device = x;
          best_jobs = jobs;
        }
      }
    }
  }
  report(with((*model)->silicon, best_device), sweeps, best_jobs, argv[2]);
  return 0;
}

#include "serving/engine/prometheus_power.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::string_view kCounter = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION";
constexpr std::string_view kPower = "DCGM_FI_DEV_POWER_USAGE";
constexpr double kMilli = 1e-3;
/// NVML's sensors against external meters, a half-width, as the meter takes it where it reads them
/// itself; so is the sensor's name, as it is the same one.
constexpr double kGain = 0.05;
constexpr double kGapSteps = 3;
const double kUniform = std::sqrt(12.0);

bool is_usable(const PromPoint& point) { return std::isfinite(point.value) && point.value >= 0; }

Seconds usual_step(const std::vector<PromPoint>& points) {
  std::vector<Seconds> steps;
  for (std::size_t i = 1; i < points.size(); ++i) steps.push_back(points[i].at - points[i - 1].at);
  if (steps.empty()) return {};
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2),
                   steps.end());
  return steps[steps.size() / 2];
}

/// Index of the last point at or before `at`; none where all come later.
std::optional<std::size_t> before(const std::vector<PromPoint>& points, Seconds at) {
  const auto later = std::upper_bound(points.begin(), points.end(), at,
                                      [](Seconds t, const PromPoint& p) { return t < p.at; });
  if (later == points.begin()) return std::nullopt;
  return static_cast<std::size_t>(later - points.begin()) - 1;
}

/// On the straight line between point i and the next one.
double on_line(const std::vector<PromPoint>& points, std::size_t i, Seconds at) {
  if (i + 1 == points.size()) return points[i].value;
  const double share = (at - points[i].at) / (points[i + 1].at - points[i].at);
  return points[i].value + share * (points[i + 1].value - points[i].value);
}

RemoteGpu begun(const std::vector<PromPoint>& points, std::string_view metric) {
  RemoteGpu gpu;
  gpu.energy = Energy::missing("prometheus:" + std::string(metric));
  gpu.samples = points.size();
  gpu.step = usual_step(points);
  return gpu;
}

void finish(RemoteGpu& gpu, double joules, double variance, const RemoteWindow& window) {
  gpu.energy.joules = Joules(joules);
  gpu.energy.random = Joules(std::sqrt(variance));
  gpu.energy.status = Status::kMeasured;
  gpu.power = gpu.energy.joules / (window.until - window.from);
}

/// The window as far as points lie on either side of its edges.
std::optional<std::pair<Seconds, Seconds>> covered(const std::vector<PromPoint>& points,
                                                   const RemoteWindow& window) {
  if (points.size() < 2) return std::nullopt;
  const Seconds from = std::max(window.from, points.front().at);
  const Seconds until = std::min(window.until, points.back().at);
  if (!(from < until)) return std::nullopt;
  return std::pair(from, until);
}

/// What one GPU has exported, of whichever pods.
struct Exported {
  std::string host;
  std::string model;
  std::vector<PromPoint> counter;
  std::vector<PromPoint> power;
};

using ByUuid = std::map<std::pair<std::string, std::string>, Exported>;  // host, UUID

void gather(const PromAnswer& answer, std::vector<PromPoint> Exported::*member, double unit,
            ByUuid& gpus) {
  for (const PromSeries& series : answer.series) {
    std::string uuid(series.label("UUID"));
    if (uuid.empty()) uuid = "gpu " + std::string(series.label("gpu"));
    std::string host(series.label("Hostname"));
    if (host.empty()) host = series.label("instance");
    Exported& gpu = gpus[{host, uuid}];
    gpu.host = host;
    gpu.model = series.label("modelName");
    for (const PromPoint& point : series.points) {
      if (is_usable(point)) (gpu.*member).push_back({point.at, point.value * unit});
    }
  }
  for (auto& [key, gpu] : gpus) {
    auto& points = gpu.*member;
    const auto is_earlier = [](const PromPoint& a, const PromPoint& b) { return a.at < b.at; };
    std::stable_sort(points.begin(), points.end(), is_earlier);
    const auto is_same = [](const PromPoint& a, const PromPoint& b) { return a.at == b.at; };
    points.erase(std::unique(points.begin(), points.end(), is_same), points.end());
  }
}

void note(const RemoteGpu& gpu, std::vector<std::string>& notes) {
  const std::string name = gpu.host + " " + gpu.uuid + ": ";
  if (gpu.resets > 0)
    notes.push_back(name + "the counter began anew, " + counted(double(gpu.resets), "time"));
  if (gpu.energy.status == Status::kMissing) {
    notes.push_back(name + "too few samples around the window");
  } else if (gpu.energy.lower_bound && gpu.resets == 0) {
    notes.push_back(name + "part of the window has no samples");
  }
}

}  // namespace

RemoteGpu energy_of_counter(const std::vector<PromPoint>& points, const RemoteWindow& window) {
  RemoteGpu gpu = begun(points, kCounter);
  const auto seen = covered(points, window);
  if (!seen) return gpu;
  // Without its resets: what each has counted is put on top.
  std::vector<PromPoint> risen = points;
  double lost = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const bool fell = points[i].value < points[i - 1].value;
    if (fell) lost += points[i - 1].value;
    if (fell && points[i].at > seen->first && points[i - 1].at < seen->second) ++gpu.resets;
    risen[i].value += lost;
  }
  double variance = 0;
  const auto edge = [&](Seconds at) {
    const std::size_t i = std::min(*before(risen, at), risen.size() - 2);
    const double rise = risen[i + 1].value - risen[i].value;
    const bool is_between = risen[i].at < at && at < risen[i + 1].at;
    if (is_between) variance += rise * rise / 12;
    const double slope = rise / (risen[i + 1].at - risen[i].at).value();
    const double age = slope * window.collected_every.value() / kUniform;
    variance += age * age;
    const double here = on_line(risen, i, at);
    return std::pair(is_between ? risen[i].value : here, is_between ? risen[i + 1].value : here);
  };
  const auto [first_least, first_most] = edge(seen->first);
  const auto [last_least, last_most] = edge(seen->second);
  const double joules = on_line(risen, *before(risen, seen->second), seen->second) -
                        on_line(risen, *before(risen, seen->first), seen->first);
  finish(gpu, joules, variance, window);
  gpu.energy.lower_bound =
      gpu.resets > 0 || window.from < seen->first || seen->second < window.until;
  // An age of its own moves either edge: only without one are the scrapes' counts bounds.
  if (!gpu.energy.lower_bound && window.collected_every == Seconds(0)) {
    gpu.energy.lower = Joules(std::max(0.0, last_least - first_most));
    gpu.energy.upper = Joules(last_most - first_least);
  }
  return gpu;
}

RemoteGpu energy_of_power(const std::vector<PromPoint>& points, const RemoteWindow& window) {
  RemoteGpu gpu = begun(points, kPower);
  const auto seen = covered(points, window);
  if (!seen) return gpu;
  double joules = 0;
  double variance = 0;
  bool has_gap = false;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const Seconds from = std::max(seen->first, points[i].at);
    const Seconds until = std::min(seen->second, points[i + 1].at);
    if (!(from < until)) continue;
    if (points[i + 1].at - points[i].at > kGapSteps * gpu.step) {
      has_gap = true;
      continue;
    }
    const double lasts = (until - from).value();
    joules += (on_line(points, i, from) + on_line(points, i, until)) / 2 * lasts;
    const double change = (points[i + 1].value - points[i].value) * lasts / kUniform;
    variance += change * change;
  }
  for (const Seconds at : {seen->first, seen->second}) {
    const double power = on_line(points, *before(points, at), at);
    const double age = power * window.collected_every.value() / kUniform;
    variance += age * age;
  }
  finish(gpu, joules, variance, window);
  gpu.energy.lower_bound = has_gap || window.from < seen->first || seen->second < window.until;
  return gpu;
}

Result<RemoteEnergy> remote_gpu_energy(const PromAnswer& counters, const PromAnswer& powers,
                                       const RemoteWindow& window) {
  ByUuid exported;
  gather(counters, &Exported::counter, kMilli, exported);
  gather(powers, &Exported::power, 1, exported);
  if (exported.empty())
    return Error::not_found("no GPU of dcgm-exporter fits: {" + window.selector + "}",
                            "look whether Prometheus has " + std::string(kCounter) + " or " +
                                std::string(kPower) + " for that time and selector");
  RemoteEnergy drawn;
  for (const PromAnswer* answer : {&counters, &powers})
    drawn.notes.insert(drawn.notes.end(), answer->warnings.begin(), answer->warnings.end());
  for (const auto& [key, gpu] : exported) {
    RemoteGpu one = energy_of_counter(gpu.counter, window);
    if (one.energy.status == Status::kMissing && !gpu.power.empty())
      one = energy_of_power(gpu.power, window);
    std::tie(one.host, one.uuid) = key;
    one.model = gpu.model;
    const Joules gain = one.energy.joules * (kGain / std::sqrt(3.0));
    if (one.energy.status != Status::kMissing)
      one.energy.systematic.push_back({"gpu:" + one.uuid + "/board/gain", gain});
    note(one, drawn.notes);
    drawn.total = drawn.gpus.empty() ? one.energy : drawn.total + one.energy;
    drawn.gpus.push_back(std::move(one));
  }
  return drawn;
}

Result<RemoteEnergy> remote_gpu_energy(const Prometheus& server, const RemoteWindow& window) {
  if (!(window.from < window.until))
    return Error::invalid_argument("a window that does not go forward: from " +
                                   fixed(window.from.value(), 3) + " to " +
                                   fixed(window.until.value(), 3));
  const Seconds lasts = window.until - window.from + 2 * window.reach;
  const auto samples = [&](std::string_view metric) {
    return server.instant(std::string(metric) + "{" + window.selector + "}[" +
                              std::to_string(std::llround(lasts.value() * 1000)) + "ms]",
                          window.until + window.reach);
  };
  PJ_TRY(const PromAnswer counters, samples(kCounter));
  PJ_TRY(const PromAnswer powers, samples(kPower));
  return remote_gpu_energy(counters, powers, window);
}

}  // namespace perjoule

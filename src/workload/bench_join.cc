#include "workload/bench_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "workload/power_steps.h"

namespace perjoule {
namespace {

constexpr Seconds kLeastGap{2};
constexpr double kLeastGapShare = 0.05;  // of the window
constexpr double kMostGaps = 0.5;        // of the window, all together

struct Window {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Seconds duration() const { return Seconds(static_cast<double>(end - begin) * 1e-9); }
};

/// All devices' courses, and the names of them.
struct Courses {
  std::vector<PowerSteps> steps;
  std::vector<std::string> names;

  Joules energy(const Window& window) const {
    Joules sum;
    for (const PowerSteps& one : steps) sum += one.energy(window.begin, window.end);
    return sum;
  }
};

Outcome check_covered(const Courses& courses, const Window& window, const std::string& file) {
  for (std::size_t i = 0; i < courses.steps.size(); ++i) {
    const PowerSteps& steps = courses.steps[i];
    const double late = static_cast<double>(steps.begin() - window.begin) * 1e-9;
    const double early = static_cast<double>(window.end - steps.end()) * 1e-9;
    if (late <= 0 && early <= 0) continue;
    const bool apart = steps.begin() >= window.end || steps.end() <= window.begin;
    std::string what;
    if (late > 0) what = fmt::format("begins {:.3f} s after the window's begin", late);
    if (early > 0) {
      what += fmt::format("{}ends {:.3f} s before the window's end", what.empty() ? "" : " and ",
                          early);
    }
    return Error::data_loss(
        fmt::format("{}: the log of {} {}", file, courses.names[i], what),
        apart ? "is it of this run? stamps without a zone are local time: --offset says another"
              : "log power from before the run until after it");
  }
  return {};
}

/// Whether the log reaches that far beyond the window at both ends, for all devices.
bool reaches_beyond(const Courses& courses, const Window& window, Seconds by) {
  const std::int64_t beyond = std::llround(by.value() * 1e9);
  return std::all_of(courses.steps.begin(), courses.steps.end(), [&](const PowerSteps& steps) {
    return steps.begin() <= window.begin - beyond && steps.end() >= window.end + beyond;
  });
}

/// How much the energy changes when the whole window is displaced by up to so much: half-width of a
/// distribution that is taken to be even.
Joules displaced(const Courses& courses, const Window& window, Seconds by) {
  const Joules here = courses.energy(window);
  Joules most;
  for (const double share : {-1.0, -0.5, 0.5, 1.0}) {
    const std::int64_t shift = std::llround(share * by.value() * 1e9);
    most = std::max(most, abs(courses.energy({window.begin + shift, window.end + shift}) - here));
  }
  return most;
}

/// What is not known of one device's energy for want of samples.
struct Unsampled {
  double sampling_variance = 0;  // J^2
  double gap_variance = 0;       // J^2
};

Result<Unsampled> unsampled(const Courses& courses, std::size_t device, const Window& window,
                            const std::string& file, std::vector<std::string>& notes) {
  const PowerSteps& steps = courses.steps[device];
  const Seconds above = std::max(kLeastGap, window.duration() * kLeastGapShare);
  const std::vector<PowerGap> gaps = steps.gaps(window.begin, window.end, above);
  const PowerSteps::Range range = steps.range(window.begin, window.end);
  Unsampled found;
  Seconds all;
  for (const PowerGap& gap : gaps) {
    all += gap.duration();
    const double joules = (gap.duration() * (range.high - range.low)).value();
    found.gap_variance += joules * joules / 12;
  }
  found.sampling_variance = steps.sampling_variance(window.begin, window.end, gaps);
  if (all > window.duration() * kMostGaps) {
    return Error::data_loss(
        fmt::format("{}: {} has no sample for {:.3f} s of the window's {:.3f} s", file,
                    courses.names[device], all.value(), window.duration().value()),
        "sample power at least once a second");
  }
  if (!gaps.empty()) {
    notes.push_back(fmt::format("{} has no sample for {} of the window, {}", courses.names[device],
                                to_text(all, 3), percent(all / window.duration())));
  }
  return found;
}

Result<Boundary> boundary_of(const PowerLog& log, const JoinOptions& options) {
  if (log.boundary && options.boundary && *log.boundary != *options.boundary) {
    return Error::invalid_argument(fmt::format("{}: a log of {} is of the boundary {}, not {}",
                                               log.file, log.format, name_of(*log.boundary),
                                               name_of(*options.boundary)));
  }
  if (log.boundary) return *log.boundary;
  if (options.boundary) return *options.boundary;
  return Error::invalid_argument(log.file + ": does not say what it is the power of",
                                 "--boundary gpu or --boundary node");
}

Energy energy_of(const PowerLog& log, Boundary boundary) {
  Energy energy;
  energy.source = fmt::format("{} ({}, {})", log.file, log.format,
                              counted(static_cast<double>(log.devices.size()), "device"));
  energy.boundary = boundary;
  energy.status = Status::kReconstructed;
  return energy;
}

/// Whose gain error it is. A device's UUID tells it from all others; "gpu:0" is another one on
/// another machine, and only in the same file surely the same.
std::string sensor_of(const std::string& device, const std::string& file) {
  const bool unique = device.find("GPU-") != std::string::npos;
  return (unique ? device : file + "/" + device) + "/gain";
}

/// The result with the energy's figures in it: all of one window, so that they agree.
void set_figures(const Energy& energy, const Window& window, BenchJoin& join) {
  BenchResult& r = join.result;
  const BenchTotals& totals = r.totals;
  const auto positive = [](const std::optional<double>& count) { return count && *count > 0; };
  if (unit_energy(r) != nullptr) {
    join.notes.push_back(fmt::format("the result's own energy, {} a {}, is replaced",
                                     to_text(unit_energy(r)->joules), unit_of(r.kind)));
  }
  r.energy = {};
  r.rates = {};
  r.power = energy.joules / window.duration();
  const double seconds = window.duration().value();
  if (positive(totals.output_tokens)) {
    r.energy.output_token = energy / *totals.output_tokens;
    r.rates.output_tokens = *totals.output_tokens / seconds;
  } else {
    join.notes.emplace_back("the result does not say how many tokens were made");
  }
  if (positive(totals.output_tokens) && totals.input_tokens) {
    const double all = *totals.output_tokens + *totals.input_tokens;
    r.energy.total_token = energy / all;
    r.rates.total_tokens = all / seconds;
  }
  if (positive(totals.responses)) {
    r.energy.response = energy / *totals.responses;
    r.rates.responses = *totals.responses / seconds;
    if (positive(totals.output_tokens))
      r.lengths.mean_output = *totals.output_tokens / *totals.responses;
  }
  if (energy.boundary == Boundary::kDevice) r.gpus.count = static_cast<std::int64_t>(join.devices);
}

/// A window longer than what the result says it took holds more than the run.
void compare_duration(const BenchResult& result, const Window& window,
                      std::vector<std::string>& notes) {
  constexpr double kTolerance = 0.01;
  if (!result.totals.duration || !(result.totals.duration->value() > 0)) return;
  const double ratio = window.duration() / *result.totals.duration;
  if (std::abs(ratio - 1) <= kTolerance) return;
  notes.push_back(fmt::format("the window is {}, the result says the run took {}",
                              to_text(window.duration(), 4), to_text(*result.totals.duration, 4)));
}

}  // namespace

Result<BenchJoin> join_power(const BenchResult& result, const PowerLog& log,
                             const JoinOptions& options) {
  if (!result.window) {
    return Error::invalid_argument(fmt::format("{}: a result of {} does not say when the run was",
                                               text_of(result.origin), result.benchmark),
                                   "--begin and --end, unix seconds, say it");
  }
  PJ_TRY(const Boundary boundary, boundary_of(log, options));
  const Window window{result.window->begin_unix_ns, result.window->end_unix_ns};
  if (window.end <= window.begin)
    return Error::invalid_argument(text_of(result.origin) + ": the window ends before it begins");
  Courses courses;
  for (const PowerSeries& series : log.devices) {
    courses.steps.emplace_back(series, log.kind);
    courses.names.push_back(series.device);
  }
  PJ_CHECK(check_covered(courses, window, log.file));

  BenchJoin join;
  join.result = result;
  join.devices = courses.steps.size();
  join.notes = log.notes;
  const auto known = options.known_within ? options.known_within : result.window->known_within;
  constexpr double kWorst = 86400;  // s: displaced by more, it is not known at all
  if (known && !(known->value() >= 0 && known->value() <= kWorst)) {
    return Error::invalid_argument(fmt::format("{}: the window is known within {} s, not a day",
                                               text_of(result.origin), exact(known->value())));
  }
  if (!known) join.notes.emplace_back("how well the window's place is known is not stated");
  if (known && !reaches_beyond(courses, window, *known)) {
    join.notes.push_back(
        fmt::format("the log does not reach {} beyond the window, which may lie that far off: the "
                    "power at its end is taken to go on",
                    to_text(*known, 3)));
  }
  const double sqrt3 = std::sqrt(3.0);
  join.budget.place = displaced(courses, window, known.value_or(Seconds(0))) / sqrt3;
  join.budget.stamps = displaced(courses, window, log.known_within) / sqrt3;

  const std::optional<double> gain = options.gain ? options.gain : log.gain;
  if (!gain) join.notes.emplace_back("the meter's gain is not stated: --gain says it");
  Energy energy = energy_of(log, boundary);
  double sampling = 0;
  double gaps = 0;
  double gains = 0;
  for (std::size_t i = 0; i < courses.steps.size(); ++i) {
    const Joules own = courses.steps[i].energy(window.begin, window.end);
    PJ_TRY(const Unsampled lost, unsampled(courses, i, window, log.file, join.notes));
    energy.joules += own;
    sampling += lost.sampling_variance;
    gaps += lost.gap_variance;
    if (!gain || *gain == 0) continue;
    const Joules sigma = own * (*gain / sqrt3);
    gains += sigma.value() * sigma.value();
    energy.systematic.push_back({sensor_of(courses.names[i], log.file), sigma});
  }
  std::sort(energy.systematic.begin(), energy.systematic.end(),
            [](const SystematicPart& a, const SystematicPart& b) { return a.sensor < b.sensor; });
  join.budget.sampling = Joules(std::sqrt(sampling));
  join.budget.gap = Joules(std::sqrt(gaps));
  join.budget.gain = Joules(std::sqrt(gains));
  const JoinBudget& budget = join.budget;
  energy.random = Joules(std::sqrt(sampling + gaps + std::pow(budget.place.value(), 2) +
                                   std::pow(budget.stamps.value(), 2)));
  if (!(energy.joules.value() > 0) || !std::isfinite(energy.standard_uncertainty().value())) {
    return Error::data_loss(
        fmt::format("{}: no energy in the window: {} J", log.file, exact(energy.joules.value())));
  }
  compare_duration(result, window, join.notes);
  join.energy = energy;
  set_figures(energy, window, join);
  return join;
}

}  // namespace perjoule

#include "meter/sweep.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <numeric>
#include <random>
#include <regex>

#include "base/process.h"
#include "base/text.h"
#include "meter/signals.h"

namespace perjoule {

std::vector<Config> combinations(const std::vector<SweepAxis>& axes) {
  std::vector<Config> configs(1);
  for (const SweepAxis& axis : axes) {
    std::vector<Config> longer;
    for (const Config& config : configs) {
      for (const std::string& value : axis.values) {
        Config extended = config;
        extended.set(axis.name, value);
        longer.push_back(std::move(extended));
      }
    }
    configs = std::move(longer);
  }
  return configs;
}

std::vector<std::string> substitute(const std::vector<std::string>& words, const Config& config) {
  std::vector<std::string> out;
  for (std::string word : words) {
    for (const Setting setting : config.settings()) {
      const std::string placeholder = "{" + std::string(setting.name) + "}";
      for (std::size_t at = word.find(placeholder); at != std::string::npos;
           at = word.find(placeholder, at + setting.value.size())) {
        word.replace(at, placeholder.size(), setting.value);
      }
    }
    out.push_back(std::move(word));
  }
  return out;
}

namespace {

/// Letters to insert, drop or change to make one word the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

/// The words in braces: "{name}", and not a shell's "${name}".
std::vector<std::string> placeholders(const std::string& word) {
  static const std::regex kPlaceholder(R"((^|[^$])\{([A-Za-z_][A-Za-z0-9_ -]*)\})");
  std::vector<std::string> names;
  for (auto at = std::sregex_iterator(word.begin(), word.end(), kPlaceholder);
       at != std::sregex_iterator(); ++at)
    names.push_back((*at)[2]);
  return names;
}

constexpr std::size_t kTimelineBytes = 8U << 20U;

/// Whether two values of a knob of words, several joined by '+', are the same in any order.
bool same_words(std::string_view one, std::string_view other) {
  std::vector<std::string_view> words[2] = {split(one, '+'), split(other, '+')};
  for (auto& list : words) {
    for (std::string_view& word : list) word = trim(word);
    std::sort(list.begin(), list.end());
  }
  return words[0] == words[1];
}

}  // namespace

Outcome check_placeholders(const std::vector<std::string>& words,
                           const std::vector<SweepAxis>& axes) {
  const auto is_axis = [&](const std::string& name) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const SweepAxis& axis) { return axis.name == name; });
  };
  const auto stands_in = [&](const std::string& axis) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word.find("{" + axis + "}") != std::string::npos;
    });
  };
  for (const std::string& word : words) {
    for (const std::string& name : placeholders(word)) {
      if (is_axis(name)) continue;
      for (const SweepAxis& axis : axes) {
        // Two letters of a word of five and more, one of a shorter one, none of a single letter.
        const std::size_t most = axis.name.size() >= 5 ? 2 : axis.name.size() >= 3 ? 1 : 0;
        if (distance(name, axis.name) > most) continue;
        // Slips are made within words; {date} is another word than {rate}. And a parameter that
        // stands in the command where it should has not been misspelt.
        if (name.front() != axis.name.front() || stands_in(axis.name)) continue;
        return Error::invalid_argument(
            fmt::format("{{{}}} in the command is no parameter of this sweep", name),
            fmt::format(
                "write {{{}}}, or sweep it too: --param {}=...; where {{{}}} itself is meant, "
                "put the command in a script",
                axis.name, name, name));
      }
    }
  }
  return {};
}

namespace {

class SweepLoop {
 public:
  SweepLoop(const Inventory& machine, const Clock& clock, KnobJournal& journal,
            const SweepOptions& options)
      : machine_(machine), clock_(clock), journal_(journal), options_(options) {}

  Result<SweepResult> run(const std::function<void(const SweepProgress&)>& watch) {
    PJ_CHECK(check_knobs());
    PJ_CHECK(check_placeholders(options_.command.spawn.arguments, options_.axes));
    PJ_TRY(SignalWatch signals, SignalWatch::start());
    const std::vector<Config> order = trial_order();
    SweepResult result;
    for (const Config& config : order) {
      if (!result.trials.empty() && pause(signals)) break;
      auto trial = run_trial(config);
      if (!trial) {
        result.failed = fail(trial, config.text());
        break;
      }
      result.trials.push_back(std::move(*trial));
      if (watch) watch({result.trials.size(), order.size(), result.trials.back()});
      if (signal_ != 0) break;
    }
    result.signal = signal_;
    result.restored = journal_.restore();
    if (!result.failed && result.trials.empty() && result.restored) return fail(result.failed);
    return result;
  }

 private:
  /// The knobs of one name on the chosen devices.
  std::vector<Knob*> knobs_named(const std::string& name) const {
    std::vector<Knob*> found;
    for (Knob* knob : machine_.knobs()) {
      const KnobInfo& info = knob->info();
      const auto& wanted = options_.devices;
      const bool chosen =
          wanted.empty() || std::find(wanted.begin(), wanted.end(), info.device) != wanted.end();
      // A GPU's limit and a CPU's share a name: without a choice of devices the GPUs are meant
      // where there are any.
      const bool gpu = info.device.rfind("gpu:", 0) == 0;
      if (info.name == name && chosen && (gpu || !wanted.empty() || !has_gpu_knob(name)))
        found.push_back(knob);
    }
    return found;
  }
  bool has_gpu_knob(const std::string& name) const {
    const auto knobs = machine_.knobs();
    return std::any_of(knobs.begin(), knobs.end(), [&](Knob* knob) {
      return knob->info().name == name && knob->info().device.rfind("gpu:", 0) == 0;
    });
  }

  /// Every value of every knob is checked before anything is turned or run.
  Outcome check_knobs() const {
    for (const SweepAxis& axis : options_.axes) {
      if (axis.values.empty()) return Error::invalid_argument(axis.name + ": no value to sweep");
      if (axis.kind == SweepAxis::Kind::kProcessors) {
        for (const std::string& value : axis.values) PJ_CHECK(processors_for(value));
      }
      if (axis.kind != SweepAxis::Kind::kKnob) continue;
      const std::vector<Knob*> knobs = knobs_named(axis.name);
      if (knobs.empty()) {
        return Error::not_supported(
            fmt::format("no device here has a {}", axis.name),
            "sweep a parameter of the program with --param, or try the twin");
      }
      for (Knob* knob : knobs) {
        for (const std::string& value : axis.values) {
          PJ_CHECK(check_knob_value(knob->info(), value));
        }
      }
    }
    return {};
  }

  /// The first so many of the processors this process may use.
  static Result<std::vector<int>> processors_for(const std::string& value) {
    const auto count = parse_integer(value);
    if (!count || *count < 1)
      return Error::invalid_argument("processors: not a count above 0: '" + value + "'");
    std::vector<int> allowed = allowed_processors();
    if (*count > static_cast<std::int64_t>(allowed.size())) {
      return Error::out_of_range(
          fmt::format("processors {}: this process may use {}", value,
                      counted(static_cast<double>(allowed.size()), "processor")));
    }
    allowed.resize(static_cast<std::size_t>(*count));
    return allowed;
  }

  std::vector<Config> trial_order() const {
    std::vector<Config> order;
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      for (Config& config : combinations(options_.axes)) order.push_back(std::move(config));
    }
    if (options_.random_order) {
      std::mt19937_64 random(options_.seed);
      std::shuffle(order.begin(), order.end(), random);
    }
    return order;
  }

  /// Cools down; true when a signal asked to stop.
  bool pause(const SignalWatch& signals) {
    const int ms = static_cast<int>(std::min(options_.cool_down.value(), 86'400.0) * 1e3);
    pollfd watched{signals.fd(), POLLIN, 0};
    ::poll(&watched, 1, ms);
    while (const auto arrived = signals.next()) {
      if (arrived->signal == SIGUSR1 || arrived->signal == SIGUSR2) continue;
      signal_ = arrived->signal;
      return true;
    }
    return false;
  }

  Result<SweepTrial> run_trial(const Config& config) {
    SweepTrial trial;
    trial.config = config;
    CommandOptions command = options_.command;
    command.spawn.arguments = substitute(command.spawn.arguments, config);
    for (const SweepAxis& axis : options_.axes) {
      const std::string value(*config.find(axis.name));
      PJ_CHECK(apply(axis, value, command, trial));
    }
    Meter meter(machine_.sources(), clock_, kTimelineBytes, options_.calibrations);
    PJ_TRY(const CommandResult result, run_command(meter, command));
    trial.exit_status = result.end.status;
    // A program may take a signal and end as it likes: that one came to us says it too.
    const bool ended_by_one = result.end.signal == SIGINT || result.end.signal == SIGTERM ||
                              result.end.signal == SIGHUP || result.end.signal == SIGQUIT;
    signal_ = result.signal != 0 ? result.signal : ended_by_one ? result.end.signal : 0;
    // What was broken off is no measurement of the setting, whatever status it ended with.
    if (signal_ != 0 && trial.exit_status == 0) trial.exit_status = 128 + signal_;
    fill(trial, result);
    return trial;
  }

  Outcome apply(const SweepAxis& axis, const std::string& value, CommandOptions& command,
                SweepTrial& trial) {
    switch (axis.kind) {
      case SweepAxis::Kind::kParameter:
        command.spawn.variables.emplace_back(axis.name, value);
        return {};
      case SweepAxis::Kind::kProcessors: {
        PJ_TRY(command.spawn.processors, processors_for(value));
        return {};
      }
      case SweepAxis::Kind::kKnob:
        break;
    }
    for (Knob* knob : knobs_named(axis.name)) {
      PJ_TRY(const std::string in_force, journal_.turn(*knob, value));
      const auto asked = leading_number(value);
      const auto got = leading_number(in_force);
      const bool words = !knob->info().choices.empty();
      if (words ? !same_words(value, in_force)
                : asked && got && std::abs(*asked - *got) > 1e-6 * std::abs(*asked)) {
        trial.notes.push_back(
            fmt::format("{}: asked for {}, {} is in force", knob->info().id, value, in_force));
        // The point is what was measured, not what was wished for.
        trial.config.set(axis.name, in_force);
      }
    }
    return {};
  }

  /// Per unit in the steady part, or the whole run.
  void fill(SweepTrial& trial, const CommandResult& result) const {
    for (const SourceMeasurement& source : result.measurement.sources) {
      for (const std::string& note : source.notes)
        trial.notes.push_back(source.info.id + " " + note);
    }
    trial.notes.insert(trial.notes.end(), result.measurement.notes.begin(),
                       result.measurement.notes.end());
    const Energy total = result.measurement.total();
    trial.units = result.units;
    if (result.units <= 0) {
      trial.time = result.measurement.duration;
      trial.energy = total;
      if (!options_.command.count_units && !options_.command.unit_pattern) return;
      // A whole run has no place among figures per unit.
      trial.energy = Energy::missing(total.source, total.boundary);
      trial.notes.push_back(
          fmt::format("no {} was counted; left out",
                      options_.command.unit.empty() ? "unit" : options_.command.unit));
      return;
    }
    trial.time = result.measurement.duration / result.units;
    trial.energy = total / result.units;
    if (options_.warm_up.value() <= 0) return;
    const SteadyPart steady = steady_part(result);
    if (steady.units <= 0 || total.joules.value() <= 0) {
      trial.notes.push_back("no unit after the warm-up: the whole run counts");
      return;
    }
    trial.time = steady.time / steady.units;
    trial.energy = steady_energy(result, steady) / steady.units;
  }

  /// The units reported after the warm-up, of which the first may have begun in it.
  struct SteadyPart {
    Seconds time;
    Joules energy;
    double units = 0;
  };
  SteadyPart steady_part(const CommandResult& result) const {
    SteadyPart part;
    Seconds passed;
    for (const UnitCost& cost : result.unit_costs) {
      passed += cost.time * cost.units;
      if (passed < options_.warm_up) continue;
      part.time += cost.time * cost.units;
      part.energy += cost.energy * cost.units;
      part.units += cost.units;
    }
    return part;
  }

  /// The steady part's energy as the courses have it. Its gain and offset errors are the whole
  /// run's share; its edges lie anywhere within a tick, or within a sampling period where that is
  /// longer, like those of a window that is not aligned (docs/uncertainty.md).
  Energy steady_energy(const CommandResult& result, const SteadyPart& steady) const {
    const Energy total = result.measurement.total();
    Energy energy = total * (steady.energy / total.joules);
    double variance = 0;
    Joules reach;
    for (const SourceMeasurement& source : result.measurement.sources) {
      if (!source.info.overlaps.empty()) continue;
      const Seconds step = std::max(source.info.tick, options_.command.every);
      const Watts power = source.energy.joules / result.measurement.duration;
      const double edge = (step * power).value() / std::sqrt(6.0);
      variance += edge * edge;
      reach += step * std::max(source.info.max_power, power);
    }
    energy.random = std::max(energy.random, Joules(std::sqrt(variance)));
    energy.lower = std::max(Joules(0), energy.joules - reach);
    energy.upper = energy.joules + reach;
    return energy;
  }

  const Inventory& machine_;
  const Clock& clock_;
  KnobJournal& journal_;
  const SweepOptions& options_;
  int signal_ = 0;
};

}  // namespace

Result<SweepResult> sweep(const Inventory& machine, const Clock& clock, KnobJournal& journal,
                          const SweepOptions& options,
                          const std::function<void(const SweepProgress&)>& watch) {
  return SweepLoop(machine, clock, journal, options).run(watch);
}

std::vector<Point> points_of(const SweepResult& result) {
  std::vector<Point> points;
  std::vector<std::vector<const SweepTrial*>> groups;
  for (const SweepTrial& trial : result.trials) {
    if (trial.exit_status != 0 || trial.energy.status == Status::kMissing) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& trials) {
      return trials.front()->config == trial.config;
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), std::vector<const SweepTrial*>());
    // A figure is not averaged with a run part of which went unseen.
    const bool bound = trial.energy.one_sided();
    if (!group->empty() && bound != group->front()->energy.one_sided()) {
      if (bound) continue;
      group->clear();
    }
    group->push_back(&trial);
  }
  for (const auto& trials : groups) {
    const double n = static_cast<double>(trials.size());
    Point point;
    point.config = trials.front()->config;
    Energy sum = trials.front()->energy;
    for (std::size_t i = 1; i < trials.size(); ++i) sum = sum + trials[i]->energy;
    point.energy = sum / n;
    point.energy.source = trials.front()->energy.source;
    double square = 0;
    for (const SweepTrial* trial : trials) {
      point.time += trial->time / n;
      square += std::pow((trial->energy.joules - point.energy.joules).value(), 2);
    }
    if (n > 1) {
      const double scatter = std::sqrt(square / (n - 1) / n);
      point.energy.random = std::max(point.energy.random, Joules(scatter));
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace perjoule

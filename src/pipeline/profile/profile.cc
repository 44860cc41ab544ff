#include "pipeline/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "pipeline/profile/knob_columns.h"

namespace perjoule {
namespace {

struct ConfigHash {
  std::size_t operator()(const Config& config) const { return config.hash(); }
};

/// Sums of the repeats of one GPU at one setting.
struct Repeats {
  int count = 0;
  double time = 0, time_squared = 0, energy = 0, energy_squared = 0;
  double stated = 0;  ///< sum of the variances that rows state
  void add(double t, double e, double time_spread) {
    ++count;
    stated += time_spread * time_spread;
    time += t;
    time_squared += t * t;
    energy += e;
    energy_squared += e * e;
  }
  static double mean(double sum, int n) { return sum / n; }
  static double spread(double sum, double squares, int n) {
    if (n < 2) return 0;
    return std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1)));
  }
  /// Between the rows, and within what each of them is the mean of.
  double time_spread() const {
    return std::hypot(spread(time, time_squared, count), std::sqrt(stated / count));
  }
};

/// GPUs of one stage run together: the slowest says the time, all of them the energy.
KnobOption together(Config knob, const std::vector<std::pair<std::string_view, Repeats>>& by_gpu) {
  KnobOption option;
  option.knob = std::move(knob);
  option.repeats = INT32_MAX;
  double energy = 0;
  double energy_variance = 0;
  for (const auto& [gpu, repeats] : by_gpu) {
    const double time = repeats.time / repeats.count;
    if (time > option.time.value()) {
      option.time = Seconds(time);
      option.time_spread = Seconds(repeats.time_spread());
    }
    energy += repeats.energy / repeats.count;
    const double spread = Repeats::spread(repeats.energy, repeats.energy_squared, repeats.count);
    energy_variance += spread * spread;
    option.repeats = std::min(option.repeats, repeats.count);
  }
  option.energy = Joules(energy);
  option.energy_spread = Joules(std::sqrt(energy_variance));
  return option;
}

Result<int> whole_number(const CsvTable& table, std::size_t row, std::size_t column) {
  const auto number = parse_integer(trim(table.cell(row, column)));
  if (number && *number >= 0 && *number <= 1'000'000) return static_cast<int>(*number);
  return Error::invalid_argument(
      fmt::format("{} line {}: {} is not a whole number from 0 up: '{}'", table.name(),
                  table.line(row), table.columns()[column], table.cell(row, column)),
      "stages and chunks are counted from 0");
}

}  // namespace

Result<PipelineProfile> PipelineProfile::parse(std::string_view text, std::string_view name) {
  PJ_TRY(const CsvTable table, parse_csv(text, name));
  std::optional<std::size_t> stage_column = table.column("stage");
  if (!stage_column) stage_column = table.column("pp_rank");
  if (!stage_column) {
    PJ_TRY(stage_column, table.require_column("stage"));
  }
  PJ_TRY(const std::size_t instruction_column, table.require_column("instruction"));
  PJ_TRY(const std::size_t time_column, table.require_column("time"));
  PJ_TRY(const std::size_t energy_column, table.require_column("energy"));
  const std::optional<std::size_t> chunk_column = table.column("chunk");
  const std::optional<std::size_t> spread_column = table.column("time_spread");
  std::optional<std::size_t> gpu_column = table.column("tp_rank");
  if (!gpu_column && !table.column("dp_rank")) gpu_column = table.column("rank");
  if (table.rows() == 0) {
    return Error::invalid_argument(fmt::format("{} has no rows", name),
                                   "a profile has a row for each stage, instruction and setting");
  }

  struct Option {
    Config knob;
    std::vector<std::pair<std::string_view, Repeats>> by_gpu;  ///< few
  };
  struct Gathered {
    ProfiledInstruction instruction;
    std::vector<Option> options;
    std::unordered_map<Config, std::size_t, ConfigHash> by_knob;
  };
  std::vector<Gathered> gathered;
  std::map<std::tuple<int, int, std::string_view>, std::size_t> index;
  const KnobReader knobs(table, knob_columns(table));
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const int stage, whole_number(table, row, *stage_column));
    int chunk = 0;
    if (chunk_column) {
      PJ_TRY(chunk, whole_number(table, row, *chunk_column));
    }
    const std::string_view instruction = trim(table.cell(row, instruction_column));
    if (instruction.empty()) {
      return Error::invalid_argument(
          fmt::format("{} line {}: the instruction is empty", name, table.line(row)),
          "name it, for example forward or backward");
    }
    PJ_TRY(const double time, table.number(row, time_column));
    PJ_TRY(const double energy, table.number(row, energy_column));
    if (time <= 0 || energy < 0) {
      return Error::invalid_argument(
          fmt::format("{} line {}: time {} s, energy {} J", name, table.line(row), time, energy),
          "a measured time is above zero and an energy not below it; time is in seconds, energy in "
          "joules");
    }
    double time_spread = 0;
    if (spread_column && !trim(table.cell(row, *spread_column)).empty()) {
      PJ_TRY(time_spread, table.number(row, *spread_column));
      if (time_spread < 0) {
        return Error::invalid_argument(
            fmt::format("{} line {}: time_spread {} s", name, table.line(row), time_spread),
            "a standard deviation is not below zero");
      }
    }
    const auto [at, is_new] = index.try_emplace({stage, chunk, instruction}, gathered.size());
    if (is_new) {
      gathered.emplace_back();
      gathered.back().instruction = {stage, chunk, std::string(instruction), {}};
    }
    Gathered& here = gathered[at->second];
    const auto [option, is_new_option] =
        here.by_knob.try_emplace(knobs.at(row), here.options.size());
    if (is_new_option) here.options.push_back({option->first, {}});
    const std::string_view gpu = gpu_column ? table.cell(row, *gpu_column) : std::string_view();
    auto& by_gpu = here.options[option->second].by_gpu;
    auto its = std::find_if(by_gpu.begin(), by_gpu.end(),
                            [gpu](const auto& each) { return each.first == gpu; });
    if (its == by_gpu.end()) its = by_gpu.insert(by_gpu.end(), {gpu, {}});
    its->second.add(time, energy, time_spread);
  }
  std::vector<ProfiledInstruction> instructions;
  for (Gathered& one : gathered) {
    for (Option& option : one.options) {
      one.instruction.options.push_back(together(std::move(option.knob), option.by_gpu));
    }
    instructions.push_back(std::move(one.instruction));
  }
  return make(std::move(instructions), name);
}

Result<PipelineProfile> PipelineProfile::read(const std::string& path) {
  PJ_TRY(const std::string text, read_file(path));
  return parse(text, path);
}

Result<PipelineProfile> PipelineProfile::make(std::vector<ProfiledInstruction> instructions,
                                              std::string_view name) {
  PipelineProfile profile;
  profile.name_ = name;
  for (const ProfiledInstruction& one : instructions) {
    profile.stages_ = std::max(profile.stages_, one.stage + 1);
  }
  std::vector<bool> seen(static_cast<std::size_t>(profile.stages_), false);
  for (const ProfiledInstruction& one : instructions) {
    seen[static_cast<std::size_t>(one.stage)] = true;
  }
  const auto gap = std::find(seen.begin(), seen.end(), false);
  if (gap != seen.end()) {
    return Error::invalid_argument(
        fmt::format("{} has {} stages, but none of its rows is of stage {}", name, profile.stages_,
                    gap - seen.begin()),
        "stages are counted from 0 without gaps");
  }
  profile.instructions_ = std::move(instructions);
  return profile;
}

Result<const ProfiledInstruction*> PipelineProfile::find(int stage, int chunk,
                                                         std::string_view name) const {
  const ProfiledInstruction* of_stage = nullptr;
  bool has_chunks = false;
  for (const ProfiledInstruction& one : instructions_) {
    if (one.stage != stage || !equals_ignoring_case(one.name, name)) continue;
    if (one.chunk == chunk) return &one;
    has_chunks = has_chunks || one.chunk != 0;
    of_stage = &one;
  }
  if (of_stage != nullptr && !has_chunks) return of_stage;
  std::string there;
  for (const ProfiledInstruction& one : instructions_) {
    if (one.stage != stage) continue;
    there += fmt::format("{}{}{}", there.empty() ? "" : ", ", one.name,
                         has_chunks ? fmt::format(" of chunk {}", one.chunk) : "");
  }
  return Error::not_found(fmt::format("{} has no instruction '{}' for stage {}{}", name_, name,
                                      stage, has_chunks ? fmt::format(", chunk {}", chunk) : ""),
                          there.empty()
                              ? fmt::format("it has stages 0 to {}", stages_ - 1)
                              : fmt::format("it has {} there; profile what is missing", there));
}

namespace {

void scale_options(ProfiledInstruction& one, double time, double energy) {
  for (KnobOption& option : one.options) {
    option.time *= time;
    option.time_spread *= time;
    option.energy *= energy;
    option.energy_spread *= energy;
  }
}

}  // namespace

void PipelineProfile::scale(double time, double energy) {
  for (ProfiledInstruction& one : instructions_) scale_options(one, time, energy);
}

void PipelineProfile::scale_each(const std::function<double(const ProfiledInstruction&)>& factor) {
  for (ProfiledInstruction& one : instructions_) {
    const double by = factor(one);
    scale_options(one, by, by);
  }
}

Watts BlockingPower::at(const Config& knob) const {
  for (const AtKnob& one : by_knob) {
    if (one.knob == knob) return one.power;
  }
  return constant;
}

Watts BlockingPower::least() const {
  Watts least = constant;
  for (const AtKnob& one : by_knob) least = std::min(least, one.power);
  return least;
}

Result<BlockingPower> read_blocking_power(const std::string& path) {
  PJ_TRY(const CsvTable table, read_csv(path));
  PJ_TRY(const std::size_t power_column, table.require_column("power"));
  std::vector<std::size_t> columns = knob_columns(table);
  if (columns.empty() || table.rows() == 0) {
    return Error::invalid_argument(
        fmt::format("{} has no {}", path, columns.empty() ? "column of a knob" : "rows"),
        "it needs the knob columns of the profile and power, in watts");
  }
  const KnobReader knobs(table, std::move(columns));
  BlockingPower power;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const double watts, table.number(row, power_column));
    if (watts < 0) {
      return Error::invalid_argument(
          fmt::format("{} line {}: power below zero: {} W", path, table.line(row), watts));
    }
    power.by_knob.push_back({knobs.at(row), Watts(watts)});
    // What is not listed waits at the highest power that is: a bound from above.
    power.constant = std::max(power.constant, Watts(watts));
  }
  return power;
}

}  // namespace perjoule

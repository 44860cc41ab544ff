#include "pipeline/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "pipeline/profile/knob_columns.h"

namespace perjoule {
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
        fmt::format("{} has {}, but none of its rows is of stage {}", name,
                    counted(profile.stages_, "stage"), gap - seen.begin()),
        "stages are counted from 0 without gaps");
  }
  profile.gpus_.assign(seen.size(), 1);
  profile.instructions_ = std::move(instructions);
  return profile;
}

std::string PipelineProfile::LeftOut::text(std::string_view name) const {
  if (options == 0) return {};
  return fmt::format("{}: {} left out, not measured on all GPUs of the stage: {}{}", name,
                     counted(static_cast<double>(options), "setting"),
                     options > 1 ? "such as " : "", example);
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
    if (option.energy_error) *option.energy_error *= energy;
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

void BlockingPower::scale(double factor) {
  constant *= factor;
  for (AtKnob& one : by_knob) one.power *= factor;
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
    if (watts < 0 || watts > kMostPower.value()) {
      return Error::invalid_argument(
          fmt::format("{} line {}: power {} W", path, table.line(row), watts),
          fmt::format("what a GPU that waits draws is from 0 to {:g} W", kMostPower.value()));
    }
    power.by_knob.push_back({knobs.at(row), Watts(watts)});
    // What is not listed waits at the highest power that is: a bound from above.
    power.constant = std::max(power.constant, Watts(watts));
  }
  return power;
}

}  // namespace perjoule

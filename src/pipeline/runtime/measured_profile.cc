#include "pipeline/runtime/measured_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv.h"

namespace perjoule {

/// Of one kind at one setting, all GPUs of the stage together.
struct MeasuredProfile::Took {
  Seconds time;
  Seconds time_spread;
  Joules energy;  ///< of waiting: watts
  Joules energy_sigma;
  std::int64_t count = 0;
};

std::vector<MeasuredProfile::Kind> MeasuredProfile::kinds_of(int stage) const {
  std::vector<Kind> kinds;
  for (const PipelineStep& step : schedule_->stages[static_cast<std::size_t>(stage)]) {
    const Kind kind{step.chunk, step.instruction};
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

void MeasuredProfile::add(const RankPlace& place, std::size_t setting,
                          const IterationReport& report) {
  const std::vector<Kind> kinds = kinds_of(place.stage);
  const auto waiting = static_cast<std::uint32_t>(kinds.size());
  const auto& order = schedule_->stages[static_cast<std::size_t>(place.stage)];
  std::vector<InstructionSpan> spans;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!std::isfinite(report.start[i].value())) continue;
    const Kind kind{order[i].chunk, order[i].instruction};
    const auto at = std::find(kinds.begin(), kinds.end(), kind) - kinds.begin();
    spans.push_back(
        {static_cast<std::uint32_t>(at), report.start[i], report.start[i] + report.took[i]});
  }
  std::sort(spans.begin(), spans.end(),
            [](const InstructionSpan& a, const InstructionSpan& b) { return a.begin < b.begin; });
  const auto meter = meters_.try_emplace({place.stage, setting, place.pipeline, place.tensor},
                                         InstructionMeter(waiting + 1));
  meter.first->second.add(spans, waiting, report.ticks, report.begin, report.end);
}

Result<std::vector<MeasuredProfile::Took>> MeasuredProfile::took_at(
    int stage, std::size_t setting, const std::vector<Kind>& kinds) const {
  std::map<int, std::vector<Took>> by_pipeline;
  for (const auto& [key, meter] : meters_) {
    const auto& [its_stage, its_setting, pipeline, tensor] = key;
    if (its_stage != stage || its_setting != setting) continue;
    const std::vector<InstructionTook> took = meter.solve();
    std::vector<Took>& sum = by_pipeline[pipeline];
    sum.resize(took.size());
    for (std::size_t k = 0; k < took.size(); ++k) {
      if (!std::isfinite(took[k].power_sigma.value())) {
        return Error::unavailable(
            fmt::format("the GPU of stage {} told no energy while it was profiled", stage),
            "its counter must tick several times an iteration; perjoule doctor says what hinders");
      }
      // Waiting is a power, all else an energy.
      const Seconds time = k < kinds.size() ? took[k].time : Seconds(1);
      const Joules sigma =
          Joules(std::hypot((took[k].power_sigma * time).value(), sum[k].energy_sigma.value()));
      if (took[k].time > sum[k].time) {
        sum[k].time = took[k].time;
        sum[k].time_spread = took[k].time_spread;
      }
      sum[k].energy += took[k].power * time;
      sum[k].energy_sigma = sigma;
      sum[k].count += took[k].count;
    }
  }
  if (by_pipeline.empty()) {
    return Error::unavailable(
        fmt::format("stage {} was not measured at {}", stage, settings_[setting].text()),
        "all ranks must train until all settings have been gone through");
  }
  std::vector<Took> mean(kinds.size() + 1);
  const auto count = static_cast<double>(by_pipeline.size());
  for (const auto& [pipeline, took] : by_pipeline) {
    for (std::size_t k = 0; k < mean.size(); ++k) {
      mean[k].time += took[k].time / count;
      mean[k].time_spread += took[k].time_spread / count;
      mean[k].energy += took[k].energy / count;
      mean[k].energy_sigma =
          Joules(std::hypot(mean[k].energy_sigma.value(), took[k].energy_sigma.value() / count));
      mean[k].count += took[k].count;
    }
  }
  return mean;
}

Result<MeasuredProfile::Answer> MeasuredProfile::answer(const std::string& name) const {
  std::vector<ProfiledInstruction> instructions;
  std::vector<double> weights(settings_.size());
  std::vector<double> powers(settings_.size());
  double worst = 0;
  for (int stage = 0; stage < static_cast<int>(schedule_->stages.size()); ++stage) {
    const std::vector<Kind> kinds = kinds_of(stage);
    const std::size_t first = instructions.size();
    for (const Kind& kind : kinds) {
      instructions.push_back({stage, kind.chunk, schedule_->instructions[kind.instruction], {}});
    }
    for (std::size_t setting = 0; setting < settings_.size(); ++setting) {
      PJ_TRY(const std::vector<Took> took, took_at(stage, setting, kinds));
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        const Took& one = took[k];
        if (one.count == 0 || one.time.value() <= 0) continue;
        KnobOption option{settings_[setting], one.time,         one.energy,
                          one.time_spread,    one.energy_sigma, static_cast<int>(one.count),
                          one.energy_sigma};
        worst = std::max(worst, one.energy_sigma / one.energy);
        instructions[first + k].options.push_back(std::move(option));
      }
      const Took& waiting = took.back();
      const double weight = 1 / std::max(1e-6, std::pow(waiting.energy_sigma.value(), 2));
      weights[setting] += weight;
      powers[setting] += weight * waiting.energy.value();
    }
  }
  Answer answer;
  for (const ProfiledInstruction& one : instructions) {
    if (!one.options.empty()) continue;
    return Error::unavailable(
        fmt::format("{} of stage {} did not run while it was profiled", one.name, one.stage),
        "tell the beginning and the end of each instruction that the schedule has");
  }
  for (std::size_t setting = 0; setting < settings_.size(); ++setting) {
    const Watts power(powers[setting] / weights[setting]);
    answer.power.by_knob.push_back({settings_[setting], power});
    answer.power.constant = std::max(answer.power.constant, power);
  }
  answer.worst_energy_error = worst;
  PJ_TRY(answer.profile, PipelineProfile::make(std::move(instructions), name));
  return answer;
}

std::string profile_csv(const PipelineProfile& profile) {
  std::string text = "stage,chunk,instruction";
  const Config& first = profile.instructions().front().options.front().knob;
  for (const Setting setting : first.settings()) text += "," + csv_field(setting.name);
  text += ",time,energy,time_spread,energy_spread,repeats\n";
  for (const ProfiledInstruction& one : profile.instructions()) {
    for (const KnobOption& option : one.options) {
      text += fmt::format("{},{},{}", one.stage, one.chunk, csv_field(one.name));
      for (const Setting setting : option.knob.settings()) text += "," + csv_field(setting.value);
      text +=
          fmt::format(",{},{},{},{},{}\n", option.time.value(), option.energy.value(),
                      option.time_spread.value(),
                      option.energy_error.value_or(option.energy_spread).value(), option.repeats);
    }
  }
  return text;
}

std::string blocking_power_csv(const BlockingPower& power) {
  std::string text;
  if (power.by_knob.empty()) return text;
  for (const Setting setting : power.by_knob.front().knob.settings())
    text += csv_field(setting.name) + ",";
  text += "power\n";
  for (const BlockingPower::AtKnob& one : power.by_knob) {
    for (const Setting setting : one.knob.settings()) text += csv_field(setting.value) + ",";
    text += fmt::format("{}\n", one.power.value());
  }
  return text;
}

}  // namespace perjoule

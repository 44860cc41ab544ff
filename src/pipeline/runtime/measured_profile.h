// The profile of a pipeline, measured while it trains: one iteration at one setting, the settings
// in turn.
//
//   MeasuredProfile measured(schedule, settings, {.pipelines = 1, .tensor = 1});
//   measured.add(place, setting, report);   // of each rank and iteration
//   PJ_TRY(const MeasuredProfile::Answer answer, measured.answer("training"));
//   answer.profile; answer.power
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/profile/profile.h"
#include "pipeline/runtime/instruction_meter.h"
#include "pipeline/runtime/rank_report.h"
#include "pipeline/schedule/schedule.h"

namespace perjoule {

class MeasuredProfile {
 public:
  /// The schedule must outlive it.
  MeasuredProfile(const PipelineSchedule& schedule, std::vector<Config> settings)
      : schedule_(&schedule), settings_(std::move(settings)) {}

  /// An iteration that a rank ran at that setting from beginning to end. O(instructions + ticks).
  void add(const RankPlace& place, std::size_t setting, const IterationReport& report);

  struct Answer {
    PipelineProfile profile;
    BlockingPower power;  ///< of all GPUs of a stage, by setting
    /// The largest standard error of an instruction's energy at a setting, relative.
    double worst_energy_error = 0;
  };
  /// GPUs that share a stage: the slowest says the time, all of them the energy; replicas are
  /// repeats. unavailable where a stage was not measured, or no counter ticked.
  Result<Answer> answer(const std::string& name) const;

 private:
  /// What a stage runs: its chunks' instructions.
  struct Kind {
    int chunk;
    std::uint32_t instruction;
    bool operator==(const Kind&) const = default;
  };
  std::vector<Kind> kinds_of(int stage) const;
  struct Took;
  Result<std::vector<Took>> took_at(int stage, std::size_t setting,
                                    const std::vector<Kind>& kinds) const;

  const PipelineSchedule* schedule_;
  std::vector<Config> settings_;
  /// By stage, setting, pipeline and tensor.
  std::map<std::tuple<int, std::size_t, int, int>, InstructionMeter> meters_;
};

/// As PipelineProfile::read takes it: a row an option, with the spreads and the number of repeats.
std::string profile_csv(const PipelineProfile& profile);
/// As read_blocking_power takes it.
std::string blocking_power_csv(const BlockingPower& power);

}  // namespace perjoule

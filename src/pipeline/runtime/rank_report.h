// What a rank and the plan service tell one another, as plain data; plan_messages.h has the JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/units.h"
#include "device/source.h"
#include "pipeline/runtime/instruction_meter.h"
#include "pipeline/schedule/schedule.h"

namespace perjoule {

/// Which part of the job a rank is, and what measures it.
struct RankPlace {
  int pipeline = 0;  ///< data-parallel replica
  int stage = 0;
  int tensor = 0;      ///< among the GPUs that share the stage
  SourceInfo counter;  ///< of its GPU
  /// The clocks that its GPU can be locked to, MHz; both 0 where it has no such knob.
  double lowest_mhz = 0;
  double highest_mhz = 0;
};

/// One iteration as a rank ran it. All moments are of one monotonic clock.
struct IterationReport {
  std::int64_t iteration = 0;
  Seconds begin;
  Seconds end;
  /// By position in the stage's order; not a number where the instruction did not run.
  std::vector<Seconds> start;
  std::vector<Seconds> took;
  std::vector<CounterTick> ticks;  ///< seen since the last report
};

/// invalid_argument for a report that is not of so many instructions, or tells what cannot have
/// been: instructions outside the iteration, a counter that falls, figures beyond all measure.
Outcome check_report(const IterationReport& report, std::size_t instructions);

enum class RuntimePhase {
  kWarmUp,
  kProfile,  ///< all at one of the settings in turn
  kHighest,  ///< all at the highest setting
  kPlan,     ///< as planned
};
std::string_view name_of(RuntimePhase phase);  ///< "warm-up", "profile", "highest", "plan"

/// What a rank is to set before each instruction of an iteration.
struct RankOrders {
  std::int64_t epoch = 0;  ///< another one for each change
  RuntimePhase phase = RuntimePhase::kWarmUp;
  std::vector<Config> knobs;        ///< settings by device knob; an empty one leaves all as it is
  std::vector<std::uint32_t> knob;  ///< by position, into `knobs`
};

/// What a rank is told once.
struct RankWelcome {
  int rank = 0;                           ///< the service's number for it
  std::vector<std::string> instructions;  ///< names
  std::vector<PipelineStep> order;        ///< of its stage
};

}  // namespace perjoule

// A pipeline schedule as data: which instructions each stage issues, in which order, and what must
// wait for what across stages.
//
//   PJ_TRY(const PipelineSchedule schedule,
//          make_schedule("1f1b", {.stages = 8, .microbatches = 12}));
//   PJ_TRY(const PipelineSchedule own,
//          make_schedule("order.csv", {.stages = 8, .microbatches = 0}));
//
// Instructions of one stage run one behind the other; that order needs no precedences. Each
// schedule is one small file (schedule_gpipe.cc, schedule_1f1b.cc, ...).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/solver/activity_network.h"

namespace perjoule {

/// One instruction that a stage issues.
struct PipelineStep {
  std::uint32_t instruction = 0;  ///< index into the schedule's names
  int chunk = 0;                  ///< part of the stage, where stages are interleaved
  int microbatch = 0;
  /// Of a step that runs a forward and a backward together (DualPipe): the microbatch whose
  /// backward it is, on the stage's other chunk; kNone in every other step.
  int backward_microbatch = kNone;
  static constexpr int kNone = -1;
};

struct ScheduleShape {
  int stages = 1;
  int microbatches = 1;
  int chunks = 1;  ///< model chunks a stage, for the interleaved ones
  /// Names of further instructions, for any schedule. With a single option in the profile they take
  /// a constant time.
  std::string load = {};                    ///< before each forward that a microbatch enters by
  std::vector<std::string> stage_end = {};  ///< once behind all others of each stage, in this order
};

struct PipelineSchedule {
  PipelineSchedule(std::string_view name_of, const ScheduleShape& shape_of,
                   std::vector<std::string> instruction_names)
      : name(name_of), shape(shape_of), instructions(std::move(instruction_names)) {}

  std::string name;
  ScheduleShape shape;
  std::vector<std::string> instructions;          ///< names, as the profile has them
  std::vector<std::vector<PipelineStep>> stages;  ///< in issue order
  std::vector<Precedence> across;                 ///< between stages, by number()

  /// Activities are numbered stage by stage in issue order.
  std::uint32_t number(std::size_t stage, std::size_t position) const {
    return first_[stage] + static_cast<std::uint32_t>(position);
  }
  std::uint32_t size() const { return first_.back(); }
  /// "backward 3 of stage 2", for messages.
  std::string describe(std::uint32_t activity) const;
  /// All precedences: those across stages and those of each stage's order.
  ActivityNetwork network() const;
  /// Numbers the activities; called once the stages are filled in.
  void number_activities();

 private:
  std::vector<std::uint32_t> first_{0};
};

/// Instructions of the largest schedule that is made: some 3 GB with its network, and numbers of
/// activities stay far within 32 bits.
inline constexpr std::int64_t kMostInstructions = 50'000'000;

/// The names make_schedule knows, for help and messages.
const std::vector<std::string_view>& schedule_names();

/// Builds a schedule by name, or reads the order file that `name` is the path of; for a file,
/// counts of 0 mean as the file has them. invalid_argument when a count is below one, when there
/// would be more than kMostInstructions, which is told before anything is built, or the schedule
/// asks more of its shape (interleaved: microbatches a multiple of stages; dualpipe: an
/// even number of stages), and what an order file is refused for.
Result<PipelineSchedule> make_schedule(std::string_view name, const ScheduleShape& shape);

}  // namespace perjoule

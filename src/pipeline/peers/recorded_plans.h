// Recorded plans of whole iterations as the options of one instruction, on one stage that waits at
// the power of all stages: so that frontier and look-up choose among them. Include in tests only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/plan/problem.h"
#include "pipeline/schedule/schedules.h"

namespace perjoule {

struct RecordedPlans {
  std::unique_ptr<PipelineProfile> profile;
  std::unique_ptr<PipelineSchedule> schedule;
  std::unique_ptr<PipelineProblem> problem;

  /// Time and energy of iterations; what all stages draw while they wait.
  RecordedPlans(std::vector<KnobOption> options, Watts waiting) {
    profile = std::make_unique<PipelineProfile>(
        *PipelineProfile::make({{0, 0, "iteration", std::move(options)}}, "recorded plans"));
    schedule = std::make_unique<PipelineSchedule>(
        *parse_order("stage,instruction,microbatch\n0,iteration,0\n", "order", {1, 1, 1}));
    problem = std::make_unique<PipelineProblem>(
        *PipelineProblem::make(*profile, *schedule, {waiting, {}}));
  }
};

/// The method a plan is of and its number among the method's.
inline Config plan_knob(std::string_view method, std::size_t number) {
  Config knob;
  knob.set("method", std::string(method));
  knob.set("plan", std::to_string(number));
  return knob;
}

}  // namespace perjoule

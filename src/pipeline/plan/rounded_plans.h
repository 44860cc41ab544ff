// Plans of many makespans of one problem, rounded and then bettered together.
#pragma once

#include <vector>

#include "pipeline/plan/plan.h"

namespace perjoule {

/// A plan's distance from the bound, as a share of the iteration's energy.
double gap_of(const PipelineProblem& problem, const PipelinePlan& plan);

/// Refines a plan that is rough, at a cost in time that grows with how rough it is. What is enough
/// of it depends on the pipeline's length: long ones have more to choose from.
PipelinePlan refine_if_rough(const PipelineProblem& problem, const Schedule& schedule,
                             PipelinePlan plan);

/// Plans of many makespans, rounded one by one and then bettered where they are rough.
class RoundedPlans {
 public:
  /// Rounds the schedules of the makespans asked for, and the others only where some of those are
  /// rough.
  RoundedPlans(const PipelineProblem& problem, const TimeCostFrontier& frontier,
               const std::vector<Ticks>& asked);
  /// Betters those that are rough, at a cost in time that grows with how rough they are.
  void better();
  /// Those asked for, fastest first.
  std::vector<PipelinePlan> plans() const;

 private:
  struct Candidate {
    const Schedule* schedule;
    bool asked;
    PipelinePlan plan;
    bool mixed = false;
  };
  bool is_rough(const PipelinePlan& plan) const;
  void round_those(bool asked);
  void refine(bool (*which)(const Candidate&));
  void mix();
  void level();

  const PipelineProblem& problem_;
  const TimeCostFrontier& frontier_;
  const std::vector<Ticks>& asked_;
  std::vector<Candidate> candidates_;  ///< fastest first
};

}  // namespace perjoule

#include "pipeline/runtime/comparison_turns.h"

namespace perjoule {

ComparisonTurns::Turn ComparisonTurns::next(const void* plan, bool straggling) {
  if (done_) return Turn::kPlan;
  if (straggling || plan != plan_) {
    turn_ = Turn::kPlan;
    count_ = 0;
    plan_ = plan;
    if (straggling) return turn_;
  }
  if (turn_ == Turn::kPlan && count_ >= length_ && plan != settled_) return turn_;
  if (count_ == length_) {
    count_ = 0;
    if (turn_ == Turn::kPlanAgain) {
      done_ = true;
      turn_ = Turn::kPlan;
      return turn_;
    }
    turn_ = turn_ == Turn::kPlan ? Turn::kHighest : Turn::kPlanAgain;
  }
  ++count_;
  return turn_;
}

}  // namespace perjoule

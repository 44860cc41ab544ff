// When the highest setting is gone back to, so that a plan is compared with it fairly.
//
//   ComparisonTurns turns(8);
//   switch (turns.next(plan, straggling)) { ... }    // once an iteration
//   turns.settle(plan);                              // nothing is to be learnt of it any more
//
// Chips warm up for minutes, and a warm one draws more: what ran first looks frugal. So a plan that
// nothing more was learnt of, and that has stood for as many iterations as are compared, is left
// for as many at the highest setting, and taken up again; the mean of before and after is what a
// steady drift leaves comparable. A plan is compared once; another plan, or a straggler, in the
// middle starts it all over.
#pragma once

namespace perjoule {

class ComparisonTurns {
 public:
  /// Iterations of each turn, from 1 up.
  explicit ComparisonTurns(int length) : length_(length) {}

  enum class Turn { kPlan, kHighest, kPlanAgain };
  /// What the next iteration is for. `plan` tells plans apart.
  Turn next(const void* plan, bool straggling);
  /// The plan is as good as what is known of the hardware; until then it is not compared.
  void settle(const void* plan) { settled_ = plan; }
  /// Whether a new plan had better wait: the comparison is under way.
  bool under_way() const { return turn_ != Turn::kPlan; }

 private:
  int length_;
  Turn turn_ = Turn::kPlan;
  int count_ = 0;  ///< iterations of the turn
  bool done_ = false;
  const void* plan_ = nullptr;
  const void* settled_ = nullptr;
};

}  // namespace perjoule

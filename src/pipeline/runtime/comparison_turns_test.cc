#include "pipeline/runtime/comparison_turns.h"

#include <gtest/gtest.h>

#include <string>

namespace perjoule {
namespace {

/// A letter an iteration: p, H, q for the plan, the highest setting, the plan again.
std::string take(ComparisonTurns& turns, int count, const int* plan, bool straggling = false) {
  std::string letters;
  for (int i = 0; i < count; ++i) {
    const ComparisonTurns::Turn turn = turns.next(plan, straggling);
    letters += turn == ComparisonTurns::Turn::kPlan      ? 'p'
               : turn == ComparisonTurns::Turn::kHighest ? 'H'
                                                         : 'q';
  }
  return letters;
}

TEST(ComparisonTurns, GoBackToTheHighestSettingOnce) {
  ComparisonTurns turns(3);
  const int plan = 0;
  const int later = 0;
  EXPECT_EQ(take(turns, 5, &plan), "ppppp");  // something may be learnt of it yet
  turns.settle(&plan);
  EXPECT_EQ(take(turns, 14, &plan), "HHHqqqpppppppp");
  EXPECT_FALSE(turns.under_way());
  EXPECT_EQ(take(turns, 5, &later), "ppppp");
}

TEST(ComparisonTurns, StartOverWithAnotherPlan) {
  const int first = 0;
  const int second = 0;
  for (int before = 0; before < 9; ++before) {
    ComparisonTurns turns(3);
    turns.settle(&first);
    (void)take(turns, before, &first);
    EXPECT_EQ(turns.under_way(), before > 3) << before;
    turns.settle(&second);
    EXPECT_EQ(take(turns, 10, &second), "pppHHHqqqp") << before;
  }
}

TEST(ComparisonTurns, WaitForTheEndOfAStraggler) {
  const int plan = 0;
  ComparisonTurns turns(2);
  turns.settle(&plan);
  EXPECT_EQ(take(turns, 3, &plan), "ppH");
  EXPECT_EQ(take(turns, 4, &plan, true), "pppp");
  EXPECT_FALSE(turns.under_way());
  EXPECT_EQ(take(turns, 7, &plan), "ppHHqqp");
}

}  // namespace
}  // namespace perjoule

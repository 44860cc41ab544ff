#include "meter/work_units.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(UnitCounter, TellsLinesFromNumbers) {
  UnitCounter steps;
  steps.take_report("\n1\n\n", Instant{1});
  EXPECT_TRUE(steps.counts_only_reports());
  EXPECT_EQ(steps.reports(), 3U);
  UnitCounter flop;
  EXPECT_FALSE(flop.counts_only_reports());  // nothing was counted yet
  flop.take_report("2.5e9\n\n", Instant{1});
  EXPECT_FALSE(flop.counts_only_reports());
  EXPECT_EQ(flop.bare_reports(), 1U);
  EXPECT_TRUE(is_flop("FLOP") && is_flop("flops"));
  EXPECT_FALSE(is_flop("step"));
}

TEST(UnitCounter, ReportsCountLinesAndNumbersAcrossPieces) {
  UnitCounter counter;
  counter.take_report("\n\n", Instant{1});
  counter.take_report("1", Instant{2});
  counter.take_report("0\nx\n-3\n2.5e2\n", Instant{3});
  EXPECT_DOUBLE_EQ(counter.count(), 2 + 10 + 250);
  EXPECT_EQ(counter.bad_lines(), 2U);
  EXPECT_EQ(counter.marks().size(), 4U);
}

TEST(UnitCounter, EachMatchIsAUnitOrTheGroupTellsTheCount) {
  UnitCounter plain = *UnitCounter::matching("^step");
  plain.take_output("step a\nloss\nstep b\n", Instant{1});
  EXPECT_DOUBLE_EQ(plain.count(), 2);
  UnitCounter group = *UnitCounter::matching("step (\\d+)/");
  group.take_output("step 10/100\rstep 20/100\rstep 20/100\rstep 30/100\n", Instant{1});
  EXPECT_DOUBLE_EQ(group.count(), 30);
}

TEST(UnitCounter, ALastLineWithoutANewlineCounts) {
  UnitCounter counter;
  counter.take_report("2\n3", Instant{1});
  EXPECT_DOUBLE_EQ(counter.count(), 2);
  counter.finish(Instant{2});
  counter.finish(Instant{3});
  EXPECT_DOUBLE_EQ(counter.count(), 5);
  UnitCounter group = *UnitCounter::matching("step (\\d+)");
  group.take_output("step 1\nstep 2", Instant{1});
  group.finish(Instant{2});
  EXPECT_DOUBLE_EQ(group.count(), 2);
}

TEST(UnitCounter, CountsThatMayMeanSomethingElseAreSaid) {
  const auto told = [](const char* output) {
    UnitCounter counter = *UnitCounter::matching("epoch (\\d+)");
    counter.take_output(output, Instant{1});
    return counter.notes();
  };
  EXPECT_TRUE(told("epoch 1\nepoch 2\n").empty());
  ASSERT_EQ(told("epoch 50\nepoch 51\n").size(), 1U);  // resumed
  EXPECT_NE(told("epoch 50\n")[0].find("50"), std::string::npos);
  ASSERT_EQ(told("epoch 0\nepoch 1\n").size(), 1U);  // counted from 0
  const auto falling = told("epoch 1\nepoch 2\nepoch 1\nepoch 2\nepoch 3\n");
  ASSERT_EQ(falling.size(), 1U);
  EXPECT_NE(falling[0].find("1 count that matched lay below"), std::string::npos);
}

TEST(UnitCounter, ABadExpressionIsNamed) {
  const auto bad = UnitCounter::matching("(");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message.rfind("not a regular expression: '('", 0), 0U);
}

TEST(UnitCounter, OutputWithoutNewlinesCostsNoMemory) {
  UnitCounter counter = *UnitCounter::matching("never");
  const std::string chunk(100'000, 'x');
  for (int i = 0; i < 10; ++i) counter.take_output(chunk, Instant{1});
  EXPECT_DOUBLE_EQ(counter.count(), 0);
}

TEST(UnitCounter, MarksStayBounded) {
  UnitCounter counter;
  for (int i = 0; i < 200'000; ++i) counter.take_report("\n", Instant{i});
  EXPECT_LE(counter.marks().size(), 65'536U);
  EXPECT_DOUBLE_EQ(counter.count(), 200'000);
}

TEST(Prediction, ExtrapolatesWithAnIntervalThatNarrows) {
  const UnitCost epoch{Seconds(10), Joules(1000)};
  const Prediction first = predict_total({epoch}, 50, 0.05);
  EXPECT_DOUBLE_EQ(first.time.value(), 500);
  EXPECT_DOUBLE_EQ(first.energy.value(), 50'000);
  EXPECT_GT(first.time_half_width.value(), 0);
  const Prediction later = predict_total(std::vector<UnitCost>(40, epoch), 50, 0.05);
  EXPECT_LT(later.energy_half_width.value(), first.energy_half_width.value());
  EXPECT_DOUBLE_EQ(later.energy_half_width.value(), 0.05 * 50'000);
}

TEST(WorkUnits, ThePredictionKeepsTheStatusAndTheIntervalOfWhatWasUsedSoFar) {
  Energy so_far;
  so_far.joules = Joules(2);
  so_far.lower = Joules(1);
  so_far.upper = Joules(5);
  so_far.random = Joules(0.5);
  so_far.status = Status::kEstimated;
  const Prediction whole = predict_total({{Seconds(1), Joules(2), 1}}, 10, 0.5);
  const Energy energy = predicted_energy(whole, so_far);
  EXPECT_EQ(energy.status, Status::kEstimated);
  EXPECT_DOUBLE_EQ(energy.joules.value(), 20);
  EXPECT_LT(energy.lower.value(), 10);  // the spread between units comes on top
  EXPECT_GE(energy.lower.value(), 1);   // what is used stays used
  EXPECT_GT(energy.upper.value(), 50);
  EXPECT_NEAR(energy.expanded_uncertainty().value(), whole.energy_half_width.value(), 1e-9);
  so_far.status = Status::kMissing;
  EXPECT_EQ(predicted_energy(whole, so_far).status, Status::kMissing);
}
}  // namespace
}  // namespace perjoule

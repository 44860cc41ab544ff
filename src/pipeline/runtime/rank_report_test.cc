#include "pipeline/runtime/rank_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace perjoule {
namespace {

/// An iteration of two instructions, of which the second did not run.
IterationReport good() {
  IterationReport report;
  report.begin = Seconds(10);
  report.end = Seconds(11);
  report.start = {Seconds(10.2), Seconds(NAN)};
  report.took = {Seconds(0.5), Seconds(NAN)};
  report.ticks = {{Seconds(10.1), Seconds(0.02), Joules(1e6)},
                  {Seconds(10.6), Seconds(0.02), Joules(1e6 + 150)}};
  return report;
}

TEST(IterationReport, WhatWasRunAndSeenIsTaken) {
  EXPECT_TRUE(check_report(good(), 2));
  IterationReport nothing;
  EXPECT_TRUE(check_report(nothing, 0));
  // Moments that are the same but for their last digits.
  IterationReport tight = good();
  tight.start[0] = tight.begin - Seconds(1e-9);
  tight.took[0] = tight.end - tight.begin + Seconds(2e-9);
  EXPECT_TRUE(check_report(tight, 2));
}

TEST(IterationReport, WhatCannotHaveBeenIsRefused) {
  const std::function<void(IterationReport&)> wrongs[] = {
      [](auto& its) { its.start.pop_back(); },
      [](auto& its) { its.took.emplace_back(1); },
      [](auto& its) { its.end = Seconds(9); },
      [](auto& its) { its.end = Seconds(NAN); },
      [](auto& its) { its.begin = Seconds(NAN); },
      [](auto& its) { its.end = Seconds(1e308); },
      [](auto& its) { its.begin = Seconds(-1e308); },
      [](auto& its) { its.took[0] = Seconds(NAN); },
      [](auto& its) { its.start[0] = Seconds(NAN); },
      [](auto& its) { its.took[0] = Seconds(-0.1); },
      [](auto& its) { its.took[0] = Seconds(1); },
      [](auto& its) { its.took[0] = Seconds(INFINITY); },
      [](auto& its) { its.start[0] = Seconds(9.5); },
      [](auto& its) { its.ticks[1].at = its.ticks[0].at; },
      [](auto& its) { its.ticks[1].energy = Joules(0); },
      [](auto& its) { its.ticks[1].energy = Joules(NAN); },
      [](auto& its) { its.ticks[0].energy = Joules(-1e308); },
      [](auto& its) { its.ticks[1].at = its.ticks[0].at + Seconds(1e-15); },
      [](auto& its) { its.ticks[0].gap = Seconds(-1); },
      [](auto& its) { its.ticks[0].gap = Seconds(1e308); },
  };
  int number = 0;
  for (const auto& make_wrong : wrongs) {
    IterationReport report = good();
    make_wrong(report);
    const Outcome checked = check_report(report, 2);
    ASSERT_FALSE(checked) << number;
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    ++number;
  }
}

}  // namespace
}  // namespace perjoule

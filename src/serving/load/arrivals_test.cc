#include "serving/load/arrivals.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace perjoule {
namespace {

constexpr std::uint64_t kSeed = 48105;

std::vector<Seconds> times_of(const Arrivals& arrivals, std::size_t count,
                              std::uint64_t seed = kSeed) {
  const auto times = arrival_times(arrivals, count, seed);
  EXPECT_TRUE(times) << times.error().text();
  return times.value_or(std::vector<Seconds>());
}

/// Gaps in units of their nominal mean.
std::vector<double> gaps_of(const Arrivals& arrivals, std::size_t count) {
  std::vector<double> gaps;
  Seconds before;
  for (const Seconds time : times_of(arrivals, count)) {
    gaps.push_back((time - before) * arrivals.rate);
    before = time;
  }
  return gaps;
}

struct Moments {
  double mean = 0;
  double variation = 0;  ///< coefficient
};
Moments moments_of(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / static_cast<double>(values.size())) / mean};
}

/// Kolmogorov's largest distance, times the root of the number of values: above 1.95 in one case of
/// a thousand.
double distance(std::vector<double> values, const std::function<double(double)>& law) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = law(values[i]);
    largest = std::max(
        {largest, at - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - at});
  }
  return largest * std::sqrt(count);
}

TEST(Arrivals, AtOnceAndConstant) {
  EXPECT_EQ(times_of({}, 3), std::vector<Seconds>(3));
  EXPECT_EQ(times_of({.law = ArrivalLaw::kConstant, .rate = Hertz(4)}, 3),
            (std::vector{Seconds(0.25), Seconds(0.5), Seconds(0.75)}));
  EXPECT_TRUE(times_of({.law = ArrivalLaw::kConstant, .rate = Hertz(4)}, 0).empty());
}

TEST(Arrivals, PoissonGapsAreExponential) {
  const auto gaps = gaps_of({.law = ArrivalLaw::kPoisson, .rate = Hertz(8)}, 100'000);
  EXPECT_NEAR(moments_of(gaps).mean, 1, 0.01);
  EXPECT_NEAR(moments_of(gaps).variation, 1, 0.01);
  EXPECT_LT(distance(gaps, [](double x) { return 1 - std::exp(-x); }), 1.95);
}

TEST(Arrivals, GammaGapsAgainstTheirLawsInClosedForm) {
  // Of shape 1 the law is exponential, of 2 Erlang's, of 1/2 that of half a squared normal.
  struct Case {
    double burstiness;
    std::function<double(double)> law;  ///< of a gap in units of the scale
  };
  for (const Case& one :
       {Case{1, [](double x) { return 1 - std::exp(-x); }},
        Case{2, [](double x) { return 1 - std::exp(-x) * (1 + x); }},
        Case{0.5, [](double x) { return std::erf(std::sqrt(x)); }},
        Case{3, [](double x) { return 1 - std::exp(-x) * (1 + x + x * x / 2); }}}) {
    auto gaps = gaps_of({.law = ArrivalLaw::kGamma, .rate = Hertz(8), .burstiness = one.burstiness},
                        100'000);
    for (double& gap : gaps) gap *= one.burstiness;
    EXPECT_LT(distance(gaps, one.law), 1.95) << one.burstiness;
  }
}

TEST(Arrivals, BurstinessIsTheInverseSquareOfTheVariation) {
  for (const double burstiness : {0.05, 0.25, 1.0, 4.0, 100.0}) {
    const auto gaps =
        gaps_of({.law = ArrivalLaw::kGamma, .rate = Hertz(100), .burstiness = burstiness}, 200'000);
    const double variation = 1 / std::sqrt(burstiness);
    EXPECT_NEAR(moments_of(gaps).mean, 1, 0.02) << burstiness;
    EXPECT_NEAR(moments_of(gaps).variation / variation, 1, 0.03) << burstiness;
  }
}

TEST(Arrivals, AnExactMean) {
  for (const ArrivalLaw law : {ArrivalLaw::kPoisson, ArrivalLaw::kGamma}) {
    const Arrivals as_drawn{.law = law, .rate = Hertz(3), .burstiness = 0.3};
    Arrivals stretched = as_drawn;
    stretched.has_exact_mean = true;
    const auto drawn = times_of(as_drawn, 30);
    const auto exact = times_of(stretched, 30);
    EXPECT_EQ(exact.back(), Seconds(10));
    EXPECT_NE(drawn.back(), Seconds(10));
    const double stretch = exact.front() / drawn.front();
    for (std::size_t i = 0; i < drawn.size(); ++i)
      EXPECT_NEAR(exact[i] / drawn[i], stretch, 1e-12 * stretch);
  }
}

TEST(Arrivals, TheSeedDecides) {
  const Arrivals gamma{.law = ArrivalLaw::kGamma, .rate = Hertz(2), .burstiness = 0.7};
  EXPECT_EQ(times_of(gamma, 50), times_of(gamma, 50));
  EXPECT_NE(times_of(gamma, 50), times_of(gamma, 50, kSeed + 1));
  auto longer = times_of(gamma, 80);
  longer.resize(50);
  EXPECT_EQ(longer, times_of(gamma, 50));
}

TEST(Arrivals, ATraceInItsOwnTimeAndInAnother) {
  Arrivals trace{.law = ArrivalLaw::kTrace,
                 .trace = {Seconds(107), Seconds(100), Seconds(101), Seconds(101)}};
  EXPECT_EQ(times_of(trace, 4), (std::vector{Seconds(0), Seconds(1), Seconds(1), Seconds(7)}));
  trace.speed = 2;
  EXPECT_EQ(times_of(trace, 3), (std::vector{Seconds(0), Seconds(0.5), Seconds(0.5)}));
  EXPECT_TRUE(times_of(trace, 0).empty());
}

TEST(Arrivals, WhatIsNoArrivalIsRefused) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto code_of = [](const Arrivals& arrivals) {
    const auto times = arrival_times(arrivals, 2, kSeed);
    return times ? ErrorCode::kOk : times.error().code;
  };
  for (const double wrong : {0.0, -1.0, inf, nan}) {
    for (const ArrivalLaw law : {ArrivalLaw::kConstant, ArrivalLaw::kPoisson, ArrivalLaw::kGamma})
      EXPECT_EQ(code_of({.law = law, .rate = Hertz(wrong)}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of({.law = ArrivalLaw::kGamma, .rate = Hertz(1), .burstiness = wrong}),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(
        code_of({.law = ArrivalLaw::kTrace, .trace = {Seconds(1), Seconds(2)}, .speed = wrong}),
        ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(code_of({.law = ArrivalLaw::kTrace, .trace = {Seconds(1)}}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code_of({.law = ArrivalLaw::kTrace, .trace = {Seconds(1), Seconds(nan)}}),
            ErrorCode::kInvalidArgument);
}

TEST(Arrivals, EveryLawHasItsName) {
  EXPECT_EQ(name_of(ArrivalLaw::kAtOnce), "at_once");
  EXPECT_EQ(name_of(ArrivalLaw::kGamma), "gamma");
}

RC_GTEST_PROP(ArrivalsProperties, NeverBackwards, (std::uint64_t seed)) {
  const Arrivals arrivals{
      .law = *rc::gen::element(ArrivalLaw::kConstant, ArrivalLaw::kPoisson, ArrivalLaw::kGamma),
      .rate = Hertz(*rc::gen::inRange(1, 1000) / 10.0),
      .burstiness = *rc::gen::inRange(1, 100) / 20.0,
      .has_exact_mean = *rc::gen::arbitrary<bool>()};
  const auto count = *rc::gen::inRange<std::size_t>(0, 200);
  const auto times = arrival_times(arrivals, count, seed);
  RC_ASSERT(times.has_value());
  RC_ASSERT(times->size() == count);
  RC_ASSERT(std::is_sorted(times->begin(), times->end()));
  for (const Seconds time : *times) RC_ASSERT(time >= Seconds(0));
}

}  // namespace
}  // namespace perjoule

#include "train/per_gpu_search.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace perjoule {
namespace {

/// A GPU whose work takes `work` seconds at limit 0 and grows by `slower` a limit; it draws `power`
/// while busy, falling by `frugal` a limit, and `waiting` while it waits.
struct Gpu {
  double work = 1;
  double slower = 0.05;
  double power = 300;
  double frugal = 0.1;
  double waiting = 100;

  double busy(std::size_t limit) const { return work * (1 + slower * static_cast<double>(limit)); }
  double energy(std::size_t limit, double time) const {
    const double watts = power * std::pow(1 - frugal, static_cast<double>(limit));
    return busy(limit) * watts + (time - busy(limit)) * waiting;
  }
};

double step_time(const std::vector<Gpu>& gpus, const std::vector<std::size_t>& limits) {
  double time = 0;
  for (std::size_t k = 0; k < gpus.size(); ++k) time = std::max(time, gpus[k].busy(limits[k]));
  return time;
}

GpuSteps step_of(const std::vector<Gpu>& gpus, const std::vector<std::size_t>& limits) {
  GpuSteps step;
  step.time = Seconds(step_time(gpus, limits));
  for (std::size_t k = 0; k < gpus.size(); ++k)
    step.energy.emplace_back(gpus[k].energy(limits[k], step.time.value()));
  return step;
}

/// Runs the search; answers how much it measured.
int finish(PerGpuSearch& search, const std::vector<Gpu>& gpus) {
  int measured = 0;
  for (; !search.done() && measured < 1000; ++measured) search.told(step_of(gpus, search.limits()));
  return measured;
}

using Limits = std::vector<std::size_t>;

TEST(PerGpuSearch, WhoWaitsForAStragglerIsLoweredAndTheStragglerIsNot) {
  const std::vector<Gpu> gpus = {{}, {}, {}, {.work = 1.19}};
  PerGpuSearch search(4, 8, 1);
  const int measured = finish(search, gpus);
  // 1 + 0.05 l <= 1.19 * 1.05 * 1.01 holds to limit 5.
  EXPECT_EQ(search.limits(), (Limits{5, 5, 5, 1}));
  EXPECT_LT(measured, 20);
}

TEST(PerGpuSearch, LikeGpusStayTogetherForTwiceTheirNumberOfMeasurements) {
  const std::vector<Gpu> gpus(8);
  PerGpuSearch search(8, 8, 2);
  EXPECT_EQ(finish(search, gpus), 1 + 15);
  EXPECT_EQ(search.limits(), Limits(8, 2));
}

TEST(PerGpuSearch, AGpuThatIsBoundByMemoryGoesDownAlone) {
  const std::vector<Gpu> gpus = {{}, {.slower = 0}};
  PerGpuSearch search(2, 6, 0);
  finish(search, gpus);
  EXPECT_EQ(search.limits(), (Limits{0, 5}));
}

TEST(PerGpuSearch, LimitsThatDoNotBindYetArePassedAndNotKeptForNothing) {
  // Nothing changes at all: no reason to go down.
  const std::vector<Gpu> idle = {{.slower = 0, .frugal = 0}, {}};
  PerGpuSearch search(2, 6, 0);
  finish(search, idle);
  EXPECT_EQ(search.limits(), (Limits{0, 0}));
}

// The one that waits may slow the job by a hundredth, but not beyond what a rule allows.
TEST(PerGpuSearch, BeyondARulesBoundNothingIsLookedFor) {
  const std::vector<Gpu> gpus = {{}, {.work = 1.198}};
  const double start = step_time(gpus, {0, 0});
  const auto found = [&](double bound, double time_random) {
    PerGpuSearch search(2, 8, 0, Seconds(bound));
    for (int i = 0; i < 100 && !search.done(); ++i) {
      GpuSteps step = step_of(gpus, search.limits());
      step.time_random = Seconds(time_random);
      search.told(step);
    }
    return search.limits();
  };
  // Limit 4 takes 1.2, 0.17 % more than T.
  EXPECT_EQ(found(std::numeric_limits<double>::infinity(), 0), (Limits{4, 0}));
  EXPECT_EQ(found(start, 0), (Limits{3, 0}));
  EXPECT_EQ(found(start, 0.0011), (Limits{4, 0}));
  EXPECT_EQ(found(start, 0.0009), (Limits{3, 0}));
}

TEST(PerGpuSearch, FindsTheLeastEnergyOfEachWithinTheTime) {
  EXPECT_TRUE(rc::check("no GPU has a limit of less energy that keeps up", [] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 9);
    std::vector<Gpu> gpus;
    for (std::size_t k = 0; k < count; ++k) {
      gpus.push_back({.work = 1 + 0.01 * *rc::gen::inRange(0, 60),
                      .slower = 0.01 * *rc::gen::inRange(2, 10),
                      .power = 250.0 + *rc::gen::inRange(0, 100),
                      .frugal = 0.01 * *rc::gen::inRange(5, 12)});
    }
    const auto limits = *rc::gen::inRange<std::size_t>(1, 9);
    const auto start = *rc::gen::inRange<std::size_t>(0, limits);
    PerGpuSearch search(count, limits, start);
    const double time = step_time(gpus, Limits(count, start));
    const int measured = finish(search, gpus);
    RC_ASSERT(search.done());
    RC_ASSERT(static_cast<std::size_t>(measured) <= 2 + 2 * count * (limits + 1));
    RC_ASSERT(step_time(gpus, search.limits()) <= 1.0101 * time);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t found = search.limits()[k];
      RC_ASSERT(found >= start);
      // Energies within half a per cent count as equal, and so do times within one.
      for (std::size_t l = start; l < limits && gpus[k].busy(l) <= time; ++l)
        RC_ASSERT(gpus[k].energy(found, time) <= 1.02 * gpus[k].energy(l, time));
    }
  }));
}

}  // namespace
}  // namespace perjoule

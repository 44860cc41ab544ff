#include "pipeline/runtime/plan_service.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "math/random.h"
#include "pipeline/runtime/plan_messages.h"

namespace perjoule {
namespace {

/// A training whose GPUs take what a formula says: time as 1/clock, power with the cube of it.
class SimulatedTraining {
 public:
  SimulatedTraining(PlanService& service, int pipelines = 1) : service_(service) {
    const PipelineSchedule& schedule = service.schedule();
    for (int pipeline = 0; pipeline < pipelines; ++pipeline) {
      for (int stage = 0; stage < static_cast<int>(schedule.stages.size()); ++stage) {
        RankPlace place;
        place.pipeline = pipeline;
        place.stage = stage;
        place.counter.id = place.counter.device =
            "gpu:" + std::to_string(pipeline) + "-" + std::to_string(stage);
        place.counter.tick = Seconds(0.1);
        place.counter.status = Status::kSimulated;
        place.lowest_mhz = 210;
        place.highest_mhz = 1410;
        const auto welcome = service.join(place);
        EXPECT_TRUE(welcome) << welcome.error().text();
        ranks_.push_back({place, welcome->rank, {}, {}, 0, 0.1});
      }
    }
  }

  /// One iteration of all ranks; answers the settings that the first rank was given.
  RankOrders iterate() {
    const std::int64_t iteration = iteration_++;
    std::vector<RankOrders> orders;
    for (Rank& rank : ranks_) {
      const auto next = service_.next(rank.number, iteration, rank.report);
      EXPECT_TRUE(next) << next.error().text();
      orders.push_back(*next);
    }
    double longest = 0;
    const std::size_t stages = service_.schedule().stages.size();
    for (std::size_t p = 0; p < ranks_.size(); p += stages)
      longest = std::max(longest, run_pipeline(p, orders));
    for (Rank& rank : ranks_) draw(rank, now_ + longest - rank.until, kWaiting);
    now_ += longest;
    last_time_ = longest;
    return orders.front();
  }
  void leave() {
    for (Rank& rank : ranks_) EXPECT_TRUE(service_.leave(rank.number, rank.report));
  }

  std::function<double(int stage, bool forward)> work = [](int stage, bool forward) {
    return (stage == 1 ? 1.15 : 1.0) * (forward ? 0.03 : 0.06);
  };
  double last_time() const { return last_time_; }
  double energy() const {
    double sum = 0;
    for (const Rank& rank : ranks_) sum += rank.energy;
    return sum;
  }
  int rank(std::size_t index) const { return ranks_[index].number; }

  static constexpr double kWaiting = 70;
  static double watts(double clock) { return 90 + 230 * std::pow(clock / 1410, 3); }

 private:
  struct Rank {
    RankPlace place;
    int number;
    std::optional<IterationReport> report;
    std::vector<CounterTick> ticks;
    double energy;
    double next_tick;
    double until = 0;
  };
  void draw(Rank& rank, double seconds, double power) {
    while (rank.next_tick <= rank.until + seconds) {
      const double energy = rank.energy + (rank.next_tick - rank.until) * power;
      rank.ticks.push_back({Seconds(rank.next_tick), Seconds(0.001), Joules(energy)});
      rank.next_tick += 0.1;
    }
    rank.energy += seconds * power;
    rank.until += seconds;
  }
  double run_pipeline(std::size_t first, const std::vector<RankOrders>& orders) {
    const PipelineSchedule& schedule = service_.schedule();
    const ActivityNetwork network = schedule.network();
    const std::vector<std::uint32_t> order = *network.topological_order();
    std::vector<double> start(schedule.size()), took(schedule.size());
    double makespan = 0;
    for (std::size_t s = 0; s < schedule.stages.size(); ++s) {
      for (std::size_t i = 0; i < schedule.stages[s].size(); ++i) {
        const Config& knob = orders[first + s].knobs[orders[first + s].knob[i]];
        const bool forward = schedule.stages[s][i].instruction == 0;
        took[schedule.number(s, i)] =
            work(static_cast<int>(s), forward) * 1410 / *knob.number("clock");
      }
    }
    for (const std::uint32_t a : order) {
      makespan = std::max(makespan, start[a] + took[a]);
      for (const std::uint32_t after : network.successors(a))
        start[after] = std::max(start[after], start[a] + took[a]);
    }
    for (std::size_t s = 0; s < schedule.stages.size(); ++s) {
      Rank& rank = ranks_[first + s];
      IterationReport report;
      report.iteration = iteration_ - 1;
      report.begin = Seconds(now_);
      for (std::size_t i = 0; i < schedule.stages[s].size(); ++i) {
        const std::uint32_t a = schedule.number(s, i);
        const Config& knob = orders[first + s].knobs[orders[first + s].knob[i]];
        draw(rank, now_ + start[a] - rank.until, kWaiting);
        draw(rank, took[a], watts(*knob.number("clock")));
        report.start.emplace_back(now_ + start[a]);
        report.took.emplace_back(took[a]);
      }
      draw(rank, now_ + makespan - rank.until, kWaiting);
      report.end = Seconds(now_ + makespan);
      report.ticks = std::exchange(rank.ticks, {});
      rank.report = std::move(report);
    }
    return makespan;
  }

  PlanService& service_;
  std::vector<Rank> ranks_;
  std::int64_t iteration_ = 0;
  double now_ = 0;
  double last_time_ = 0;
};

std::unique_ptr<PlanService> make(RuntimeRequest request = {}, int pipelines = 1,
                                  std::string schedule = "1f1b") {
  PipelineJob job;
  job.schedule = std::move(schedule);
  job.shape = {.stages = 2, .microbatches = 6};
  job.pipelines = pipelines;
  auto service = PlanService::make(std::move(job), std::move(request));
  EXPECT_TRUE(service) << service.error().text();
  return std::move(*service);
}

/// Until the plan is in force.
void train_until_plan(PlanService& service, SimulatedTraining& training) {
  for (int i = 0; i < 200; ++i) {
    if (training.iterate().phase == RuntimePhase::kPlan) return;
    service.settle();
  }
  FAIL() << "no plan came into force";
}

TEST(PlanService, ProfilesThenPlansAndSavesWhatItSays) {
  auto service = make({.rounds = 3});
  SimulatedTraining training(*service);
  train_until_plan(*service, training);
  const auto measured = service->measured();
  ASSERT_TRUE(measured);
  // The profile is what the formula says.
  for (const ProfiledInstruction& one : measured->profile.instructions()) {
    EXPECT_EQ(one.options.size(), 8U);
    for (const KnobOption& option : one.options) {
      const double clock = *option.knob.number("clock");
      const double time = training.work(one.stage, one.name == "forward") * 1410 / clock;
      EXPECT_NEAR(option.time.value(), time, 1e-9);
      EXPECT_NEAR(option.energy.value() / (time * training.watts(clock)), 1, 0.02);
    }
  }
  for (const BlockingPower::AtKnob& at : measured->power.by_knob)
    EXPECT_NEAR(at.power.value(), 70, 3);
  // Five of the plan, of which one has run, five at the highest setting, five of the plan, and on.
  for (int i = 0; i < 17; ++i) training.iterate();
  training.leave();
  const auto both = service->comparison();
  ASSERT_TRUE(both && both->in_turns);
  const auto& highest = both->highest;
  const auto& plan = both->plan;
  EXPECT_EQ(highest.iterations, 5);
  EXPECT_EQ(plan.iterations, 10);
  EXPECT_LE(plan.time.value(), highest.time.value() * 1.0001);
  EXPECT_NEAR(plan.time / plan.planned_time, 1, 0.001);
  EXPECT_NEAR(plan.energy.joules / plan.planned_energy, 1, 0.01);
  EXPECT_NEAR(highest.energy.joules / highest.planned_energy, 1, 0.01);
  EXPECT_LT(plan.energy.joules.value(), 0.97 * highest.energy.joules.value());
  EXPECT_EQ(plan.energy.status, Status::kSimulated);
  EXPECT_GT(plan.energy.expanded_uncertainty().value(), 0);
}

TEST(PlanService, ComparesOneBehindTheOtherWhereATrainingIsShort) {
  auto service = make({.rounds = 3});
  SimulatedTraining training(*service);
  EXPECT_FALSE(service->comparison());
  train_until_plan(*service, training);
  for (int i = 0; i < 8; ++i) training.iterate();  // broken off at the highest setting
  training.leave();
  const auto both = service->comparison();
  ASSERT_TRUE(both);
  EXPECT_FALSE(both->in_turns);
  EXPECT_LT(both->plan.energy.joules.value(), both->highest.energy.joules.value());
}

TEST(PlanService, GivesNoSavingOverSomeOfTheRanks) {
  auto service = make({.rounds = 3, .highest = 3}, 2);
  SimulatedTraining training(*service, 2);
  train_until_plan(*service, training);
  for (int i = 0; i < 30; ++i) training.iterate();
  ASSERT_TRUE(service->comparison());
  // The same orders for a job whose second pipeline never comes.
  auto lacking = make({.rounds = 3, .highest = 3}, 2);
  SimulatedTraining alone(*lacking, 1);
  for (int i = 0; i < 40; ++i) alone.iterate();
  EXPECT_FALSE(lacking->comparison());
  for (const auto& row : lacking->summaries()) EXPECT_EQ(row.energy.status, Status::kMissing);
}

TEST(PlanService, ATrainingOfOtherCountsIsSaid) {
  auto service = make({.rounds = 1});
  SimulatedTraining training(*service);
  training.iterate();
  IterationReport report;
  report.iteration = 0;
  report.begin = Seconds(0);
  report.end = Seconds(1);
  report.start.assign(12, Seconds(0.1));
  report.took.assign(12, Seconds(0.01));
  report.start.back() = report.took.back() = Seconds(NAN);
  ASSERT_TRUE(service->next(training.rank(0), 1, report));
  ASSERT_TRUE(service->failure());
  EXPECT_NE(service->failure()->text().find("ran 11 of the 12 instructions"), std::string::npos)
      << service->failure()->text();
}

TEST(PlanService, MeasuredEnergiesAreTheTruth) {
  auto service = make({.rounds = 2, .highest = 20});
  SimulatedTraining training(*service);
  train_until_plan(*service, training);
  const double before = training.energy();
  for (int i = 0; i < 12; ++i) training.iterate();
  const double mean = (training.energy() - before) / 12;
  const Energy told = service->summaries().back().energy;
  EXPECT_NEAR(told.joules.value(), mean, told.expanded_uncertainty().value() + 0.002 * mean);
}

TEST(PlanService, SettingsComeInTurnDownAndUpAgain) {
  RuntimeRequest request{.warm_up = 1, .rounds = 2};
  for (const char* clock : {"1410 MHz", "1200 MHz", "1000 MHz"}) {
    request.settings.emplace_back().set("clock", clock);
  }
  auto service = make(std::move(request));
  SimulatedTraining training(*service);
  std::string order;
  for (int i = 0; i < 8; ++i) {
    const RankOrders orders = training.iterate();
    for (const std::uint32_t knob : orders.knob) EXPECT_EQ(knob, orders.knob.front());
    order += orders.knobs[orders.knob.front()].text() + "/";
  }
  EXPECT_EQ(order,
            "clock 1410 MHz/clock 1410 MHz/clock 1200 MHz/clock 1000 MHz/clock 1000 MHz/"
            "clock 1200 MHz/clock 1410 MHz/clock 1410 MHz/");
}

TEST(PlanService, AnIterationsSettingsAreTheSameForWhoeverAsks) {
  auto service = make({.rounds = 1}, 2);
  SimulatedTraining training(*service, 2);
  train_until_plan(*service, training);
  service->settle();
  const auto first = service->next(training.rank(0), 100, std::nullopt);
  ASSERT_TRUE(first);
  ASSERT_TRUE(service->straggle(1, {.slowdown = 1.3, .until = {}}));
  const auto late = service->next(training.rank(0), 100, std::nullopt);
  ASSERT_TRUE(late);
  EXPECT_EQ(first->epoch, late->epoch);
  const auto then = service->next(training.rank(0), 101, std::nullopt);
  ASSERT_TRUE(then);
  EXPECT_GT(then->epoch, first->epoch);
}

TEST(PlanService, WhileAPipelineStragglesTheOthersTakeTheirTime) {
  auto service = make({.rounds = 2}, 2);
  SimulatedTraining training(*service, 2);
  train_until_plan(*service, training);
  const RankOrders usual = training.iterate();
  const double time = training.last_time();
  ASSERT_TRUE(service->straggle(1, {.slowdown = 1.2, .until = {}}));
  const RankOrders waiting = training.iterate();
  EXPECT_NE(usual.epoch, waiting.epoch);
  EXPECT_GT(training.last_time(), 1.1 * time);
  EXPECT_LE(training.last_time(), 1.2001 * service->plans()->highest().time.value());
  // The straggler itself does not slow down.
  const auto straggler = service->next(training.rank(2), 60, std::nullopt);
  const auto other = service->next(training.rank(0), 60, std::nullopt);
  ASSERT_TRUE(straggler && other);
  EXPECT_EQ(straggler->knob, usual.knob);
  EXPECT_NE(other->knob, usual.knob);
  ASSERT_TRUE(service->straggler_over(1));
  const auto again = service->next(training.rank(0), 61, std::nullopt);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->knob, usual.knob);
}

TEST(PlanService, TimesThatDriftArePlannedAnew) {
  auto service = make({.rounds = 2, .patience = 3});
  SimulatedTraining training(*service);
  train_until_plan(*service, training);
  const auto before = service->plans();
  for (int i = 0; i < 8; ++i) training.iterate();
  service->settle();
  EXPECT_EQ(service->plans(), before) << "nothing has drifted";
  const auto usual = training.work;
  training.work = [usual](int stage, bool forward) {
    return usual(stage, forward) * (stage == 0 ? 1.3 : 1);
  };
  for (int i = 0; i < 10; ++i) {
    training.iterate();
    service->settle();
  }
  EXPECT_NE(service->plans(), before);
  // Stage 0 is now the heavier one: it is at the highest clock, stage 1 is not.
  const StageSettings& plan = service->plans()->usual();
  const auto mean_clock = [&](std::size_t stage) {
    double sum = 0;
    for (const std::uint32_t knob : plan.knob[stage]) sum += *plan.knobs[knob].number("clock");
    return sum / static_cast<double>(plan.knob[stage].size());
  };
  EXPECT_GT(mean_clock(0), mean_clock(1));
}

TEST(PlanService, APlanForEachIterationFollowsAModelWhoseTimesChange) {
  auto service = make({.rounds = 2, .drift = 0, .patience = 1});
  SimulatedTraining training(*service);
  train_until_plan(*service, training);
  Random random(4);
  double factor = 1;
  training.work = [&](int stage, bool forward) {
    return (stage == 0 ? factor : 1) * (forward ? 0.03 : 0.06);
  };
  auto plans = service->plans();
  int changed = 0;
  for (int i = 0; i < 12; ++i) {
    factor = 0.9 + 0.2 * random.uniform();
    training.iterate();
    service->settle();
    changed += service->plans() != plans ? 1 : 0;
    plans = service->plans();
  }
  EXPECT_GE(changed, 9);
}

TEST(PlanService, WithAProfileNothingIsProfiled) {
  auto first = make({.rounds = 2});
  SimulatedTraining once(*first);
  train_until_plan(*first, once);
  RuntimeRequest request{.profile = first->measured()->profile,
                         .power = first->measured()->power,
                         .warm_up = 1,
                         .highest = 2};
  auto service = make(std::move(request));
  SimulatedTraining training(*service);
  std::string phases;
  for (int i = 0; i < 4; ++i) phases += std::string(name_of(training.iterate().phase)) + " ";
  EXPECT_EQ(phases, "warm-up highest highest plan ");
}

TEST(PlanService, ARankThatEndsTooEarlySaysWhatWouldBeEnough) {
  auto service = make({.rounds = 3});
  SimulatedTraining training(*service);
  for (int i = 0; i < 5; ++i) training.iterate();
  training.leave();
  ASSERT_TRUE(service->failure());
  EXPECT_NE(service->failure()->text().find("after 5 iterations"), std::string::npos)
      << service->failure()->text();
  EXPECT_NE(service->failure()->text().find("26"), std::string::npos);
}

TEST(PlanService, PlacesAndReportsThatDoNotFitAreRefused) {
  auto service = make();
  SimulatedTraining training(*service);
  RankPlace place;
  place.stage = 2;
  EXPECT_EQ(service->join(place).error().code, ErrorCode::kInvalidArgument);
  place.stage = 1;
  EXPECT_EQ(service->join(place).error().code, ErrorCode::kConflict);
  EXPECT_EQ(service->next(9, 0, std::nullopt).error().code, ErrorCode::kNotFound);
  IterationReport report;
  report.start.resize(3);
  report.took.resize(3);
  EXPECT_EQ(service->next(training.rank(0), 1, report).error().code, ErrorCode::kInvalidArgument);
  // A later report would count on from there.
  EXPECT_EQ(service->next(training.rank(0), std::numeric_limits<std::int64_t>::max(), std::nullopt)
                .error()
                .code,
            ErrorCode::kInvalidArgument);
  EXPECT_FALSE(service->straggle(7, {.slowdown = 1.1, .until = {}}));
  EXPECT_FALSE(service->straggle(0, {.slowdown = 0.5, .until = {}}));
  EXPECT_FALSE(service->straggle(0, {.slowdown = 1.5, .until = Seconds(3)}));
  EXPECT_FALSE(service->straggler_over(0));
}

TEST(PlanMessages, WhatIsSentIsWhatIsRead) {
  auto service = make({.rounds = 1});
  SimulatedTraining training(*service);
  const RankOrders orders = training.iterate();
  const auto read = rank_orders_of(*parse_json(to_json(orders).dump()));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->knob, orders.knob);
  EXPECT_EQ(read->knobs, orders.knobs);
  EXPECT_EQ(read->phase, orders.phase);
  IterationReport report;
  report.iteration = 3;
  report.begin = Seconds(1.25);
  report.end = Seconds(2.5);
  report.start = {Seconds(1.3), Seconds(NAN)};
  report.took = {Seconds(0.5), Seconds(NAN)};
  report.ticks = {{Seconds(1.5), Seconds(0.025), Joules(17)}};
  const auto told = iteration_report_of(*parse_json(to_json(report).dump()));
  ASSERT_TRUE(told) << told.error().text();
  EXPECT_EQ(told->start[0], report.start[0]);
  EXPECT_TRUE(std::isnan(told->start[1].value()));
  EXPECT_EQ(told->ticks[0].energy, Joules(17));
}

TEST(PlanMessages, WhatMakesNoSenseIsNamed) {
  for (const char* text : {"{}", R"({"epoch":1,"phase":"plan","knobs":[],"runs":[[0,3]]})",
                           R"({"epoch":1,"phase":"later","knobs":[{}],"runs":[[0,3]]})",
                           R"({"epoch":1,"phase":"plan","knobs":[{}],"runs":[[0,1e300]]})",
                           R"({"epoch":1,"phase":"plan","knobs":[{"clock":3}],"runs":[[0,3]]})"}) {
    const auto orders = rank_orders_of(*parse_json(text));
    ASSERT_FALSE(orders) << text;
    EXPECT_EQ(orders.error().code, ErrorCode::kInvalidArgument);
  }
  for (const char* text :
       {R"({"iteration":1,"begin_s":0,"end_s":1,"start_s":[],"took_s":[]})",
        R"({"iteration":1,"begin_s":0,"end_s":1,"start_s":["x"],"took_s":[],"ticks":[]})",
        R"({"iteration":1,"begin_s":0,"end_s":1,"start_s":[],"took_s":[],)"
        R"("ticks":[[2,0,1],[1,0,2]]})",
        R"({"iteration":1,"begin_s":0,"end_s":1,"start_s":[],"took_s":[],"ticks":[[2,0,null]]})"}) {
    EXPECT_FALSE(iteration_report_of(*parse_json(text))) << text;
  }
  for (const char* step : {"[0,null,0,-1]", "[0,0,1e300,-1]", "[0,0,0,3.5]", "[0,0,0]",
                           "[1,0,0,-1]", "[-1,0,0,-1]", "[0,4294967296,0,-1]"}) {
    const std::string text =
        std::string(R"({"rank":0,"instructions":["forward"],"order":[)") + step + "]}";
    EXPECT_FALSE(rank_welcome_of(*parse_json(text))) << text;
  }
}

}  // namespace
}  // namespace perjoule

#include "pipeline/runtime/plan_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/signals_kept.h"

namespace perjoule {
namespace {

// Iterations whose orders are remembered: ranks of one pipeline are never further apart.
constexpr std::int64_t kRemembered = 64;
/// One a microsecond for a month: no training has more, and one more than it has is a number still.
constexpr std::int64_t kLastIteration = 1'000'000'000'000;
/// Runs of iterations under the same orders whose figures are kept: some hours of a plan for each
/// iteration.
constexpr std::size_t kKept = 4096;
/// Planning that takes this much of an iteration is quick.
constexpr double kQuick = 0.5;
constexpr int kClocks = 8;
/// The lowest clock that is tried, of the highest: below it energy rises on every chip we know.
constexpr double kLowestShare = 0.55;
constexpr double kClockStep = 15;  // MHz, NVIDIA's

std::shared_ptr<const StageSettings> shared(StageSettings settings) {
  return std::make_shared<const StageSettings>(std::move(settings));
}

}  // namespace

std::string_view name_of(RuntimePhase phase) {
  switch (phase) {
    case RuntimePhase::kWarmUp:
      return "warm-up";
    case RuntimePhase::kProfile:
      return "profile";
    case RuntimePhase::kHighest:
      return "highest";
    case RuntimePhase::kPlan:
      break;
  }
  return "plan";
}

Result<std::unique_ptr<PlanService>> PlanService::make(PipelineJob job, RuntimeRequest request) {
  if (job.pipelines < 1 || job.tensor < 1) {
    return Error::invalid_argument(
        fmt::format("{} pipelines of {} GPUs a stage", job.pipelines, job.tensor));
  }
  if (request.profile) {
    const int stages = request.profile->stages();
    if (job.shape.stages != 0 && job.shape.stages != stages) {
      return Error::invalid_argument(
          fmt::format("{} stages, where the profile has {}", job.shape.stages, stages),
          "profile the pipeline that is trained");
    }
    job.shape.stages = stages;
  }
  PJ_TRY(PipelineSchedule schedule, make_schedule(job.schedule, job.shape));
  std::unique_ptr<PlanService> service(
      new PlanService(std::move(job), std::move(request), std::move(schedule)));
  RuntimeRequest& how = service->request_;
  if (how.profile) {
    PJ_TRY(service->plans_,
           RuntimePlans::make(*how.profile, how.power, service->schedule_, how.plans));
    service->first_plans_ = service->plans_;
    service->usual_ = shared(service->plans_->usual());
    service->highest_ = shared(service->plans_->highest());
  } else if (!how.settings.empty()) {
    service->choose_settings({});
  }
  return service;
}

PlanService::PlanService(PipelineJob job, RuntimeRequest request, PipelineSchedule schedule)
    : job_(std::move(job)),
      request_(std::move(request)),
      schedule_(std::move(schedule)),
      turns_(std::max(1, request_.highest)),
      measuring_(schedule_, request_.settings),
      measures_switching_(!request_.plans.switching.any()),
      drift_(request_.drift, request_.patience) {}

PlanService::~PlanService() { settle(); }

void PlanService::settle() {
  std::thread planner;
  {
    const std::lock_guard lock(mutex_);
    planner.swap(planner_);
  }
  if (planner.joinable()) planner.join();
}

void PlanService::choose_settings(const RankPlace& place) {
  std::vector<Config>& settings = request_.settings;
  if (settings.empty()) {
    for (int i = 0; i < kClocks && place.highest_mhz > 0; ++i) {
      const double lowest = std::max(place.lowest_mhz, kLowestShare * place.highest_mhz);
      const double clock = place.highest_mhz - (place.highest_mhz - lowest) * i / (kClocks - 1);
      const double whole =
          place.highest_mhz - std::round((place.highest_mhz - clock) / kClockStep) * kClockStep;
      Config setting;
      setting.set("clock", fmt::format("{} MHz", whole));
      if (settings.empty() || !(settings.back() == setting)) settings.push_back(setting);
    }
  }
  measuring_ = MeasuredProfile(schedule_, settings);
  for (const Config& setting : settings)
    at_setting_.push_back(shared(StageSettings::all_at(schedule_, setting, setting.text())));
  if (!settings.empty()) highest_ = at_setting_.front();
}

Result<RankWelcome> PlanService::join(const RankPlace& place) {
  const std::lock_guard lock(mutex_);
  const auto stages = static_cast<int>(schedule_.stages.size());
  const auto is_within = [](int number, int count) { return number >= 0 && number < count; };
  if (!is_within(place.stage, stages) || !is_within(place.pipeline, job_.pipelines) ||
      !is_within(place.tensor, job_.tensor)) {
    return Error::invalid_argument(
        fmt::format("no such rank: stage {} of {}, pipeline {} of {}, GPU {} of {}", place.stage,
                    stages, place.pipeline, job_.pipelines, place.tensor, job_.tensor),
        "all are counted from 0; --pipelines and --tensor say how many there are");
  }
  for (const Rank& other : ranks_) {
    if (other.gone || other.place.stage != place.stage || other.place.pipeline != place.pipeline ||
        other.place.tensor != place.tensor)
      continue;
    return Error::conflict(
        fmt::format("stage {} of pipeline {} has its rank already", place.stage, place.pipeline),
        "each rank says which stage it is");
  }
  if (!plans_ && request_.settings.empty()) {
    if (!(place.highest_mhz > 0)) {
      return Error::not_supported(
          "the GPU of stage " + std::to_string(place.stage) + " has no clock that can be locked",
          "perjoule doctor says what hinders");
    }
    choose_settings(place);
  }
  RankWelcome welcome;
  welcome.rank = static_cast<int>(ranks_.size());
  welcome.instructions = schedule_.instructions;
  welcome.order = schedule_.stages[static_cast<std::size_t>(place.stage)];
  ranks_.push_back({place, {}, -1, false});
  return welcome;
}

std::int64_t PlanService::profile_ends() const {
  if (request_.profile) return request_.warm_up;
  return request_.warm_up +
         static_cast<std::int64_t>(request_.rounds) * static_cast<std::int64_t>(at_setting_.size());
}

void PlanService::decide_plan(Decision& decision) {
  decision.turn = turns_.next(usual_.get(), !stragglers_.empty());
  if (decision.turn == ComparisonTurns::Turn::kHighest) {
    decision.phase = RuntimePhase::kHighest;
    return;
  }
  decision.phase = RuntimePhase::kPlan;
  decision.usual = usual_;
  decision.plans = plans_;
  for (const auto& [pipeline, straggle] : stragglers_) decision.stragglers.insert(pipeline);
  if (!stragglers_.empty() && !waiting_) {
    Seconds until;
    for (const auto& [pipeline, straggle] : stragglers_)
      until = std::max({until, straggle.until, plans_->highest().time * straggle.slowdown});
    waiting_ = shared(plans_->until(until));
  }
  if (!stragglers_.empty()) decision.waiting = waiting_;
}

PlanService::Decision PlanService::decide(std::int64_t iteration) {
  const auto known = decisions_.find(iteration);
  if (known != decisions_.end()) return known->second;
  Decision decision;
  decision.usual = highest_;
  if (iteration < request_.warm_up) {
    decision.phase = RuntimePhase::kWarmUp;
  } else if (iteration < profile_ends()) {
    decision.phase = RuntimePhase::kProfile;
    // Down and up again, so that what drifts falls on all settings alike.
    const auto count = static_cast<std::int64_t>(at_setting_.size());
    const std::int64_t step = (iteration - request_.warm_up) % (2 * count);
    decision.setting = static_cast<std::size_t>(step < count ? step : 2 * count - 1 - step);
    decision.usual = at_setting_[decision.setting];
  } else if (usual_ && highest_decided_ >= request_.highest) {
    decide_plan(decision);
  } else {
    decision.phase = RuntimePhase::kHighest;
    ++highest_decided_;
  }
  if (stretches_.empty() || !stretches_.back().decision.same_orders(decision)) {
    decision.epoch = stretches_.empty() ? 0 : stretches_.back().decision.epoch + 1;
    stretches_.push_back({decision, iteration, {}});
    if (stretches_.size() > kKept) stretches_.pop_front();
  }
  decision.epoch = stretches_.back().decision.epoch;
  decisions_[iteration] = decision;
  while (decisions_.size() > kRemembered) decisions_.erase(decisions_.begin());
  return decision;
}

Result<RankOrders> PlanService::next(int rank, std::int64_t iteration,
                                     const std::optional<IterationReport>& report) {
  const std::lock_guard lock(mutex_);
  if (rank < 0 || rank >= static_cast<int>(ranks_.size()))
    return Error::not_found(fmt::format("no rank of that number: {}", rank), "join first");
  if (report) PJ_CHECK(take(rank, *report));
  if (iteration > kLastIteration) {
    return Error::invalid_argument(fmt::format("no training has an iteration {}", iteration),
                                   "all ranks count the iterations alike, from 0");
  }
  if (iteration < 0 || (!decisions_.empty() && iteration < decisions_.begin()->first)) {
    return Error::conflict(fmt::format("iteration {} is long over", iteration),
                           "all ranks count the iterations alike");
  }
  const Decision decision = decide(iteration);
  const RankPlace& place = ranks_[static_cast<std::size_t>(rank)].place;
  const bool waits = decision.waiting && decision.stragglers.count(place.pipeline) == 0;
  const StageSettings& settings = waits ? *decision.waiting : *decision.usual;
  return RankOrders{decision.epoch, decision.phase, settings.knobs,
                    settings.knob[static_cast<std::size_t>(place.stage)]};
}

Outcome PlanService::leave(int rank, const std::optional<IterationReport>& report) {
  const std::lock_guard lock(mutex_);
  if (rank < 0 || rank >= static_cast<int>(ranks_.size()))
    return Error::not_found(fmt::format("no rank of that number: {}", rank));
  Rank& one = ranks_[static_cast<std::size_t>(rank)];
  if (one.gone) return {};
  one.gone = true;
  if (report) PJ_CHECK(take(rank, *report));
  if (!request_.profile && !measured_ && !planning_ && !failure_ && one.told + 1 < profile_ends()) {
    failure_ = Error::unavailable(
                   fmt::format("the rank of stage {} of pipeline {} ended after {} iterations; to "
                               "profile {} settings takes {}",
                               one.place.stage, one.place.pipeline, one.told + 1,
                               at_setting_.size(), profile_ends()),
                   "train longer, or profile fewer settings or rounds")
                   .value();
  }
  return {};
}

/// A training of fewer microbatches, or of another schedule, cannot be run as planned.
void PlanService::check_all_ran(const Rank& rank, const IterationReport& report) {
  const auto ran = std::count_if(report.took.begin(), report.took.end(),
                                 [](Seconds took) { return std::isfinite(took.value()); });
  if (failure_ || ran == static_cast<std::ptrdiff_t>(report.took.size())) return;
  failure_ =
      Error::invalid_argument(
          fmt::format("the rank of stage {} of pipeline {} ran {} of the {} instructions that "
                      "it has in the schedule, in iteration {}",
                      rank.place.stage, rank.place.pipeline, ran, report.took.size(),
                      report.iteration),
          "--microbatches, --schedule and --chunks must be those of the training")
          .value();
}

Outcome PlanService::take(int rank_number, const IterationReport& report) {
  Rank& rank = ranks_[static_cast<std::size_t>(rank_number)];
  const auto& order = schedule_.stages[static_cast<std::size_t>(rank.place.stage)];
  PJ_CHECK(check_report(report, order.size()));
  rank.counter.add(report.ticks);
  const auto known = decisions_.find(report.iteration);
  if (known == decisions_.end() || report.iteration <= rank.told) return {};
  rank.told = report.iteration;
  check_all_ran(rank, report);
  const Decision decision = known->second;
  std::optional<Seconds> needed = report.end;
  // The counter may only now tell how the one before ended.
  const std::int64_t oldest = decision.epoch - 2;
  for (auto at = stretches_.rbegin(); at != stretches_.rend(); ++at) {
    Stretch& stretch = *at;
    if (stretch.decision.epoch < oldest) break;
    if (stretch.decision.epoch == decision.epoch) {
      stretch.ranks[rank_number].add(report, rank.counter);
    } else if (const auto its = stretch.ranks.find(rank_number); its != stretch.ranks.end()) {
      its->second.look_again(rank.counter);
    }
    const auto its = stretch.ranks.find(rank_number);
    if (its == stretch.ranks.end()) continue;
    if (const auto waits = its->second.waits_for()) needed = std::min(*needed, *waits);
  }
  rank.counter.forget_before(*needed);
  if (decision.phase == RuntimePhase::kProfile) {
    measuring_.add(rank.place, decision.setting, report);
  } else if (decision.phase == RuntimePhase::kPlan) {
    follow_drift(rank, report, decision);
  }
  look_for_end_of_profile();
  return {};
}

void PlanService::look_for_end_of_profile() {
  if (request_.profile || measured_ || failure_ || planning_) return;
  std::size_t through = 0;
  for (const Rank& rank : ranks_) through += rank.told + 1 >= profile_ends() ? 1 : 0;
  if (through < ranks_in_all()) return;
  Result<MeasuredProfile::Answer> answer = measuring_.answer("profile of this training");
  if (!answer) {
    failure_ = answer.error();
    return;
  }
  measured_ = std::move(*answer);
  if (!request_.only_profile) start_planning(measured_->profile, measured_->power);
}

void PlanService::start_planning(PipelineProfile profile, BlockingPower power) {
  // The last planner has done its work, for planning_ is false.
  if (planner_.joinable()) planner_.join();
  planning_ = true;
  const SignalsKept kept;
  planner_ = std::thread([this, profile = std::move(profile), power = std::move(power),
                          request = request_.plans, before = plans_] {
    // All plans of a large pipeline take longer than an iteration; the next one's need not.
    if (before && planning_took_ > before->usual().time * kQuick) {
      if (auto usual = before->replan_usual(profile, power, request)) {
        const std::lock_guard lock(mutex_);
        usual_ = shared(std::move(*usual));
      }
    }
    const auto began = std::chrono::steady_clock::now();
    auto plans = RuntimePlans::make(profile, power, schedule_, request);
    planning_took_ =
        Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    const std::lock_guard lock(mutex_);
    planning_ = false;
    if (!plans) {
      failure_ = plans.error();
      return;
    }
    plans_ = *plans;
    if (!first_plans_) first_plans_ = plans_;
    usual_ = shared(plans_->usual());
    waiting_.reset();
    drift_.restart();  // what is learnt next is of this plan
  });
}

Outcome PlanService::straggle(int pipeline, const Straggle& straggle) {
  const std::lock_guard lock(mutex_);
  if (pipeline < 0 || pipeline >= job_.pipelines) {
    return Error::invalid_argument(
        fmt::format("no pipeline {}: there are {}", pipeline, job_.pipelines));
  }
  const bool by_time = straggle.until.value() > 0 && std::isfinite(straggle.until.value());
  const bool by_factor = straggle.slowdown >= 1 && std::isfinite(straggle.slowdown);
  if (by_time == by_factor) {
    return Error::invalid_argument(
        fmt::format("a straggler that takes {} times as long, or until {} s", straggle.slowdown,
                    straggle.until.value()),
        "say one of the two: a factor from 1 up, or a time above 0");
  }
  stragglers_[pipeline] = straggle;
  waiting_.reset();
  return {};
}

Outcome PlanService::straggler_over(int pipeline) {
  const std::lock_guard lock(mutex_);
  if (stragglers_.erase(pipeline) == 0)
    return Error::not_found(fmt::format("pipeline {} was no straggler", pipeline));
  waiting_.reset();
  return {};
}

PlanService::Progress PlanService::progress() const {
  const std::lock_guard lock(mutex_);
  if (decisions_.empty()) return {};
  const auto& [iteration, decision] = *decisions_.rbegin();
  const auto until =
      static_cast<double>(profile_ends() + (request_.only_profile ? 0 : request_.highest));
  const double share = decision.phase == RuntimePhase::kPlan || until <= 0
                           ? 1
                           : std::min(1.0, static_cast<double>(iteration) / until);
  return {iteration, decision.phase, share};
}

std::optional<MeasuredProfile::Answer> PlanService::measured() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

SwitchCost PlanService::switching() const {
  const std::lock_guard lock(mutex_);
  return request_.plans.switching;
}

double PlanService::margin() const {
  const std::lock_guard lock(mutex_);
  return request_.plans.margin;
}

std::shared_ptr<const RuntimePlans> PlanService::plans() const {
  const std::lock_guard lock(mutex_);
  return plans_;
}

std::optional<Error> PlanService::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace perjoule

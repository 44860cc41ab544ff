#include "train/activity_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr double kMostSigma = 0.01;  // of a period, relative
// By so much a window grows before it is looked at again: a look costs the square of its length.
constexpr double kGrowth = 1.04;
constexpr double kNoQuicker = 0.97;
constexpr double kSlack = 1.03;
constexpr double kSlowerThanPower = 2;
// A rhythm heard under one limit is heard under the next within so many periods, if at all.
constexpr double kPatiencePeriods = 30;
constexpr Seconds kLeastPatience{10};
// Nothing is waited for before the first rhythm; but what was before (reading data, compiling) must
// not spoil it.
constexpr Seconds kStartPatience{60};

Watts mean_of(const std::vector<float>& watts) {
  const double sum = std::accumulate(watts.begin(), watts.end(), 0.0);
  return Watts(watts.empty() ? 0 : sum / static_cast<double>(watts.size()));
}

}  // namespace

bool ActivityTuner::measuring() const {
  const auto phase = tuner_.optimizer().phase();
  return phase == PowerLimitOptimizer::Phase::kWarmUp ||
         phase == PowerLimitOptimizer::Phase::kProfiling;
}

Seconds ActivityTuner::patience() const {
  if (!measuring() || !last_) return kStartPatience;
  return std::max(kLeastPatience, last_->period * kPatiencePeriods);
}

bool ActivityTuner::believable(Seconds period, Watts power) {
  // Only what was measured one limit higher says anything of this one.
  if (!measuring() || periods_.empty()) return true;
  const ActivityPeriod& higher = periods_.back();
  const double slower = period / higher.period;
  const double less = std::max(0.0, higher.power / power - 1);
  quicker_ = slower < kNoQuicker;
  if (!quicker_ && slower <= kSlack + kSlowerThanPower * less) return true;
  missing_ = fmt::format("a period of {} at {} cannot be that of {} at {}", to_text(period, 4),
                         to_text(power, 4), to_text(higher.period, 4), to_text(higher.power, 4));
  return false;
}

std::optional<Rhythm> ActivityTuner::listen(const std::vector<float>& watts, Watts power) {
  RhythmDemands demands;
  if (last_) {
    demands.expected_above = kNoQuicker * (last_->period / step_);
    demands.expected_below = (measuring() ? 1.5 : kSlack) * (last_->period / step_);
  }
  const auto rhythm = find_rhythm(watts, demands);
  quicker_ = false;
  if (!rhythm) {
    // That a window has only begun is no reason beside what the one before it was refused for.
    if (rhythm.error().code == ErrorCode::kNotFound || missing_.empty())
      missing_ = rhythm.error().message;
    return std::nullopt;
  }
  if (rhythm->sigma > kMostSigma * rhythm->period) {
    missing_ = "the rhythm is not steady enough";
    return std::nullopt;
  }
  if (!believable(rhythm->period * step_, power)) return std::nullopt;
  missing_.clear();
  return *rhythm;
}

Result<bool> ActivityTuner::observe(Seconds elapsed, const Energy& energy,
                                    const std::vector<float>& watts) {
  if (given_up_) return false;
  if (!began_) began_ = elapsed;
  const Seconds age = elapsed - *began_;
  if (age < listened_ * kGrowth) return false;
  listened_ = age;
  const Watts power = mean_of(watts);
  if (const auto rhythm = listen(watts, power)) {
    heard_ = rhythm;
    steps_ = steps_before_ + age / (rhythm->period * step_);
  } else if (age > patience()) {
    return run_out(elapsed, energy);
  } else {
    heard_.reset();
  }
  const PowerLimitOptimizer& optimizer = tuner_.optimizer();
  const auto limit = optimizer.limit();
  const std::size_t points = optimizer.points().size();
  const double uncertainty = heard_ ? heard_->sigma / heard_->period : 0;
  PJ_CHECK(tuner_.observe({elapsed, energy, heard_ ? steps_ : steps_before_, uncertainty}));
  if (optimizer.window_began() == began_) return false;
  if (heard_) {
    last_ = ActivityPeriod{limit.value_or(Watts(0)), heard_->period * step_, heard_->sigma * step_,
                           heard_->regularity, power};
    if (optimizer.points().size() > points) periods_.push_back(*last_);
  }
  if (optimizer.points().empty()) periods_.clear();  // all is measured again
  if (optimizer.choice() && optimizer.choice()->chosen < periods_.size())
    last_ = periods_[optimizer.choice()->chosen];
  began_ = optimizer.window_began();
  listened_ = Seconds(0);
  steps_before_ = steps_;
  heard_.reset();
  tried_again_ = false;
  return true;
}

Result<bool> ActivityTuner::run_out(Seconds elapsed, const Energy& energy) {
  const bool lost = measuring() && tried_again_;
  tried_again_ = measuring();
  steps_ = steps_before_;
  heard_.reset();
  if (lost && quicker_) {
    PJ_CHECK(give_up(missing_ + ": these are not the same steps"));
    return true;
  }
  if (lost) {
    const std::string at = fmt::format("{:g} W", tuner_.optimizer().limit()->value());
    PJ_TRY(const bool chosen, tuner_.leave_out_rest());
    if (!chosen) {
      PJ_CHECK(give_up("no rhythm under " + at + " (" + missing_ + ")"));
      return true;
    }
    notes_.push_back("no rhythm under " + at + " (" + missing_ +
                     "): it and the lower limits are left out");
    tried_again_ = false;
  } else {
    tuner_.begin_again();
  }
  // The next window begins here, and not when the next steps are told.
  PJ_CHECK(tuner_.observe({elapsed, energy, steps_before_}));
  began_ = elapsed;
  listened_ = Seconds(0);
  return true;
}

Outcome ActivityTuner::give_up(const std::string& why) {
  given_up_ = true;
  notes_.push_back(why + ": the limits are put back, and nothing is chosen");
  return tuner_.give_up();
}

}  // namespace perjoule

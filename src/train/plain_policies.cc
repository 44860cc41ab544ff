#include "train/plain_policies.h"

#include <algorithm>

namespace perjoule {

Result<std::unique_ptr<BatchSizePolicy>> GridPolicy::make(const JobSpec& spec,
                                                          std::vector<int> limits) {
  PJ_CHECK(check(spec));
  if (limits.size() != spec.batch_sizes.size())
    return Error::invalid_argument("grid search wants the number of limits of every batch size");
  return std::unique_ptr<BatchSizePolicy>(new GridPolicy(spec, std::move(limits)));
}

GridPolicy::GridPolicy(JobSpec spec, std::vector<int> limits)
    : spec_(std::move(spec)), limits_(std::move(limits)), best_(spec_.default_batch) {
  const auto at =
      std::lower_bound(spec_.batch_sizes.begin(), spec_.batch_sizes.end(), spec_.default_batch);
  start_ = static_cast<std::size_t>(at - spec_.batch_sizes.begin());
  position_ = start_;
}

int GridPolicy::next(Random& /*random*/, const std::vector<int>& running) {
  return done_ || !running.empty() ? best_ : spec_.batch_sizes[position_];
}

void GridPolicy::report(const TrialResult& result, Joules /*job_cost*/) {
  if (result.reached && result.cost.value() < least_) {
    least_ = result.cost.value();
    best_ = result.batch_size;
  }
  if (done_ || result.batch_size != spec_.batch_sizes[position_]) return;
  if (!result.reached && position_ != start_) {
    turn_or_end();
    return;
  }
  if (++tried_limits_ < limits_[position_]) return;
  tried_limits_ = 0;
  const bool last = up_ ? position_ + 1 == limits_.size() : position_ == 0;
  if (last) {
    turn_or_end();
  } else {
    up_ ? ++position_ : --position_;
  }
}

void GridPolicy::turn_or_end() {
  tried_limits_ = 0;
  if (up_ || start_ + 1 == limits_.size()) {
    done_ = true;
    return;
  }
  up_ = true;
  position_ = start_ + 1;
}

}  // namespace perjoule

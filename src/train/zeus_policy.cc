#include "train/zeus_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace perjoule {
namespace {

constexpr int kRounds = 2;
constexpr double kLeastResults = 2;   // of an arm, before it is sampled
constexpr double kFailureCost = 100;  // times beta times the lowest cost

}  // namespace

Outcome check(const JobSpec& spec) {
  if (spec.batch_sizes.empty()) return Error::invalid_argument("no batch size to choose from");
  if (spec.batch_sizes.front() < 1) return Error::invalid_argument("a batch size is below 1");
  if (!std::is_sorted(spec.batch_sizes.begin(), spec.batch_sizes.end()))
    return Error::invalid_argument("batch sizes are not in ascending order");
  const auto twice = std::adjacent_find(spec.batch_sizes.begin(), spec.batch_sizes.end());
  if (twice != spec.batch_sizes.end())
    return Error::invalid_argument(fmt::format("a batch size stands twice: {}", *twice));
  if (!std::binary_search(spec.batch_sizes.begin(), spec.batch_sizes.end(), spec.default_batch)) {
    return Error::invalid_argument("the default batch size " + std::to_string(spec.default_batch) +
                                   " is not among the batch sizes");
  }
  if (!(spec.beta >= 1)) return Error::invalid_argument("beta is below 1", "2 is usual");
  if (spec.window < 0) return Error::invalid_argument("the window is below 0", "0 keeps all");
  for (const std::optional<Joules>& deviation : {spec.prior.noise, spec.prior.deviation}) {
    if (deviation && !(deviation->value() > 0))
      return Error::invalid_argument("a standard deviation of costs is not above 0");
  }
  return {};
}

Result<std::unique_ptr<BatchSizePolicy>> ZeusPolicy::make(const JobSpec& spec) {
  PJ_CHECK(check(spec));
  return std::unique_ptr<BatchSizePolicy>(new ZeusPolicy(spec));
}

ZeusPolicy::ZeusPolicy(JobSpec spec)
    : spec_(std::move(spec)), rounds_left_(kRounds), sizes_(spec_.batch_sizes) {
  best_ = spec_.default_batch;
  begin_round();
}

void ZeusPolicy::begin_round() {
  const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), best_);
  start_ = static_cast<std::size_t>(at - sizes_.begin());
  position_ = start_;
  direction_ = Direction::kStart;
  survivors_.clear();
}

int ZeusPolicy::next(Random& random, const std::vector<int>& running) {
  if (rounds_left_ == 0) return sample(random);
  // While something runs the exploration waits, unless the best known is known to fail.
  return !running.empty() && !best_fails_ ? best_ : sizes_[position_];
}

int ZeusPolicy::sample(Random& random) const {
  std::vector<int> young;
  for (const int size : sizes_) {
    if (results_.at(size).count < kLeastResults) young.push_back(size);
  }
  if (!young.empty()) return random.pick(young);
  int chosen = sizes_.front();
  double least = std::numeric_limits<double>::infinity();
  for (const int size : sizes_) {
    const double cost = draw(results_.at(size), random);
    if (cost < least) {
      least = cost;
      chosen = size;
    }
  }
  return chosen;
}

// One draw from the posterior of an arm's mean cost.
double ZeusPolicy::draw(const Costs& costs, Random& random) const {
  const CostPrior& prior = spec_.prior;
  const double noise = prior.noise ? prior.noise->value() : 0;
  const double variance = (prior.noise ? noise * noise : costs.squares / costs.count) / costs.count;
  const double z = random.normal();
  // A variance of zero is an infinite precision: the prior has no say.
  if (!prior.deviation || variance == 0) return costs.mean + std::sqrt(variance) * z;
  const double before = 1 / (prior.deviation->value() * prior.deviation->value());
  const double precision = before + 1 / variance;
  const double mean = (before * prior.mean.value() + costs.mean / variance) / precision;
  return mean + z / std::sqrt(precision);
}

int ZeusPolicy::most_epochs(int /*batch_size*/, Joules epoch_cost) const {
  if (stops_ >= kStopsOfDrift) return kAnyEpochs;
  const double epochs = std::floor(spec_.beta * lowest_cost_ / epoch_cost.value());
  return epochs < kAnyEpochs ? static_cast<int>(epochs) : kAnyEpochs;
}

void ZeusPolicy::report(const TrialResult& result, Joules job_cost) {
  if (result.reached) {
    reached_.insert(result.batch_size);
    remember_lowest(job_cost.value(), result.batch_size);
    stops_ = 0;
  } else if (reached_.count(result.batch_size) > 0) {
    ++stops_;
  }
  if (result.batch_size == best_) best_fails_ = false;
  observe(result.batch_size, result.cost.value());
  explore(result.batch_size, result.cost.value(), result.reached);
}

void ZeusPolicy::remember_lowest(double job_cost, int batch_size) {
  if (stops_ >= kStopsOfDrift) {
    // Costs from before the data changed bound nothing any more.
    lowest_cost_ = std::numeric_limits<double>::infinity();
    last_.clear();
  }
  if (spec_.window > 0) {
    last_.emplace_back(job_cost, batch_size);
    if (last_.size() > static_cast<std::size_t>(spec_.window) * spec_.batch_sizes.size())
      last_.pop_front();
    std::tie(lowest_cost_, best_) = *std::min_element(last_.begin(), last_.end());
  } else if (job_cost < lowest_cost_) {
    lowest_cost_ = job_cost;
    best_ = batch_size;
  }
}

void ZeusPolicy::report_failure(int batch_size) {
  best_fails_ = best_fails_ || batch_size == best_;
  const double beta = std::isfinite(spec_.beta) ? spec_.beta : 1;
  // Before anything reached the target there is nothing to multiply.
  if (std::isfinite(lowest_cost_)) observe(batch_size, kFailureCost * beta * lowest_cost_);
  explore(batch_size, 0, false);
}

void ZeusPolicy::Costs::count_in(double cost) {
  ++count;
  const double before = cost - mean;
  mean += before / count;
  squares += before * (cost - mean);
}

void ZeusPolicy::Costs::add(double cost, int window) {
  if (window == 0) {
    count_in(cost);
    return;
  }
  kept.push_back(cost);
  if (kept.size() > static_cast<std::size_t>(window)) kept.pop_front();
  count = mean = squares = 0;
  for (const double each : kept) count_in(each);
}

void ZeusPolicy::observe(int batch_size, double cost) {
  results_[batch_size].add(cost, spec_.window);
}

// Results of others that ran meanwhile count, but only the explored size moves the exploration.
void ZeusPolicy::explore(int batch_size, double cost, bool reached) {
  if (rounds_left_ == 0 || batch_size != sizes_[position_]) return;
  if (reached) survivors_[batch_size] = cost;
  go_on(reached);
}

void ZeusPolicy::go_on(bool reached) {
  if (direction_ == Direction::kStart) {
    direction_ = Direction::kDown;
    reached = true;
  }
  if (direction_ == Direction::kDown) {
    if (reached && position_ > 0) {
      --position_;
      return;
    }
    direction_ = Direction::kUp;
    position_ = start_;
    reached = true;
  }
  if (reached && position_ + 1 < sizes_.size()) {
    ++position_;
    return;
  }
  end_round();
}

void ZeusPolicy::end_round() {
  if (!survivors_.empty()) {
    best_fails_ = false;
    sizes_.clear();
    auto cheapest = survivors_.begin();
    for (auto at = survivors_.begin(); at != survivors_.end(); ++at) {
      sizes_.push_back(at->first);
      if (at->second < cheapest->second) cheapest = at;
    }
    best_ = cheapest->first;
    --rounds_left_;
  }
  if (rounds_left_ > 0) begin_round();
}

}  // namespace perjoule

#include "train/zeus_policy.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

constexpr int kRounds = 2;
constexpr std::size_t kLeastResults = 2;   // of an arm, before it is sampled
constexpr double kNeverStartedCost = 100;  // times beta times the lowest cost

}  // namespace

Outcome check(const JobSpec& spec) {
  if (spec.batch_sizes.empty()) return Error::invalid_argument("no batch size to choose from");
  if (spec.batch_sizes.front() < 1) return Error::invalid_argument("a batch size is below 1");
  if (!std::is_sorted(spec.batch_sizes.begin(), spec.batch_sizes.end(), std::less_equal<int>()))
    return Error::invalid_argument("batch sizes are not in ascending order, each once");
  if (!std::binary_search(spec.batch_sizes.begin(), spec.batch_sizes.end(), spec.default_batch)) {
    return Error::invalid_argument("the default batch size " + std::to_string(spec.default_batch) +
                                   " is not among the batch sizes");
  }
  if (!(spec.beta >= 1)) return Error::invalid_argument("beta is below 1", "2 is usual");
  if (spec.window < 0) return Error::invalid_argument("the window is below 0", "0 keeps all");
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
  if (rounds_left_ > 0) return !running.empty() ? best_ : sizes_[position_];
  return sample(random);
}

int ZeusPolicy::sample(Random& random) const {
  std::vector<int> young;
  for (const int size : sizes_) {
    if (results_.at(size).size() < kLeastResults) young.push_back(size);
  }
  if (!young.empty()) return random.pick(young);
  int chosen = sizes_.front();
  double least = std::numeric_limits<double>::infinity();
  for (const int size : sizes_) {
    const std::vector<double>& costs = results_.at(size);
    const auto n = static_cast<double>(costs.size());
    double mean = 0;
    for (const double cost : costs) mean += cost / n;
    double variance = 0;
    for (const double cost : costs) variance += (cost - mean) * (cost - mean) / n;
    const double draw = mean + std::sqrt(variance / n) * random.normal();
    if (draw < least) {
      least = draw;
      chosen = size;
    }
  }
  return chosen;
}

int ZeusPolicy::most_epochs(int /*batch_size*/, Joules epoch_cost) const {
  const double epochs = std::floor(spec_.beta * lowest_cost_ / epoch_cost.value());
  return epochs < kAnyEpochs ? static_cast<int>(epochs) : kAnyEpochs;
}

void ZeusPolicy::report(const TrialResult& result, Joules job_cost) {
  if (result.reached && job_cost.value() < lowest_cost_) {
    lowest_cost_ = job_cost.value();
    best_ = result.batch_size;
  }
  observe(result.batch_size, result.cost.value(), result.reached);
}

void ZeusPolicy::report_never_started(int batch_size) {
  observe(batch_size, kNeverStartedCost * spec_.beta * lowest_cost_, false);
}

void ZeusPolicy::observe(int batch_size, double cost, bool reached) {
  std::vector<double>& costs = results_[batch_size];
  costs.push_back(cost);
  if (spec_.window > 0 && costs.size() > static_cast<std::size_t>(spec_.window))
    costs.erase(costs.begin());
  // Results of others that ran meanwhile count, but only the explored size moves the exploration.
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

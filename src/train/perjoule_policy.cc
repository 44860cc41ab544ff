#include "train/perjoule_policy.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

// How far the walk steps at once: an octave.
constexpr double kStep = 1.0;
// Standard deviations below its expectation that an untried size is hoped to reach.
constexpr double kHope = 1.5;
// Standard deviations above its expectation that a smaller size is let run for.
constexpr double kPatience = 2.5;
// Relative error of the cost of an epoch for every octave from a known one.
constexpr double kModelError = 0.05;

}  // namespace

Result<std::unique_ptr<BatchSizePolicy>> PerjoulePolicy::make(const JobSpec& spec) {
  PJ_CHECK(check(spec));
  if (spec.prior.noise || spec.prior.deviation) {
    return Error::invalid_argument("policy perjoule learns the spread of costs for itself",
                                   "a known noise or a prior goes with policy zeus");
  }
  return std::unique_ptr<BatchSizePolicy>(new PerjoulePolicy(spec));
}

PerjoulePolicy::PerjoulePolicy(JobSpec spec)
    : spec_(std::move(spec)), arms_(spec_.batch_sizes.size()) {
  for (std::size_t i = 0; i < arms_.size(); ++i)
    arms_[i].record.batch_size = static_cast<double>(spec_.batch_sizes[i]);
}

void PerjoulePolicy::Arm::count_in(const Training& result) {
  if (result.epochs > 0) {
    record.add(result.epochs);
    epochs += result.epochs;
  } else {
    ++failures;
    futile = result.futile;
  }
}

// All but the cost of an epoch, which is the machine's and not the data's.
void PerjoulePolicy::Arm::forget() {
  kept.clear();
  recount();
}

void PerjoulePolicy::Arm::recount() {
  record = {record.batch_size};
  epochs = 0;
  failures = 0;
  futile = false;
  for (const Training& each : kept) count_in(each);
}

std::size_t PerjoulePolicy::index_of(int batch_size) const {
  const auto at = std::lower_bound(spec_.batch_sizes.begin(), spec_.batch_sizes.end(), batch_size);
  return static_cast<std::size_t>(at - spec_.batch_sizes.begin());
}

double PerjoulePolicy::log_size(std::size_t index) const {
  return std::log2(static_cast<double>(spec_.batch_sizes[index]));
}

std::optional<std::size_t> PerjoulePolicy::best() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    if (arms_[i].reached() && (!best || arms_[i].cost() < arms_[*best].cost())) best = i;
  }
  return best;
}

// The size to try on that side of the best one: the farthest within an octave, at least the next.
// None where the side is closed by a tried size, or ends. Where a larger batch fails, still larger
// ones do; that a smaller one fails is an accident of this size, so that one is passed over.
std::optional<std::size_t> PerjoulePolicy::step_from(std::size_t best, bool up) const {
  const std::size_t end = up ? arms_.size() : 0;
  std::optional<std::size_t> target;
  bool passed = false;
  for (std::size_t i = best; i != (up ? end - 1 : end);) {
    i = up ? i + 1 : i - 1;
    const bool failed = arms_[i].closed() && !arms_[i].reached();
    if (failed && !up && !passed) {
      passed = true;
      continue;
    }
    if (arms_[i].tried()) return std::nullopt;
    if (!target || std::abs(log_size(i) - log_size(best)) <= kStep) target = i;
  }
  return target;
}

// While nothing has reached the target: the untried size nearest to the default, or the one with
// the fewest failures.
std::size_t PerjoulePolicy::first_that_may_reach() const {
  const std::size_t start = index_of(spec_.default_batch);
  const auto distance = [&](std::size_t i) { return std::abs(log_size(i) - log_size(start)); };
  std::size_t chosen = start;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    const bool fewer = arms_[i].failures < arms_[chosen].failures;
    const bool nearer =
        arms_[i].failures == arms_[chosen].failures && distance(i) < distance(chosen);
    if (fewer || nearer) chosen = i;
  }
  return chosen;
}

// The cost of an epoch as a + c / b, through the two known sizes nearest to this one: a fixed cost
// of the samples and one for every step.
double PerjoulePolicy::epoch_cost_at(std::size_t index, Random& random) const {
  if (arms_[index].epoch_cost > 0) return arms_[index].epoch_cost;
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    if (arms_[i].epoch_cost > 0) known.push_back(i);
  }
  const auto distance = [&](std::size_t i) { return std::abs(log_size(i) - log_size(index)); };
  std::sort(known.begin(), known.end(),
            [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  const double inverse = 1.0 / spec_.batch_sizes[index];
  const double first = 1.0 / spec_.batch_sizes[known[0]];
  const double cost = arms_[known[0]].epoch_cost;
  double expected = 0;
  double error = kModelError * distance(known[0]);
  if (known.size() == 1) {
    // Nothing is known of the share that goes with the steps.
    const double share = random.uniform();
    expected = cost * (1 - share + share * inverse / first);
  } else {
    const double second = 1.0 / spec_.batch_sizes[known[1]];
    const double slope = std::max(0.0, (arms_[known[1]].epoch_cost - cost) / (second - first));
    expected = std::max(cost + slope * (inverse - first), 0.5 * cost);
  }
  return expected * std::exp(error * random.normal());
}

std::vector<EpochRecord> PerjoulePolicy::records() const {
  std::vector<EpochRecord> records;
  for (const Arm& arm : arms_) records.push_back(arm.record);
  return records;
}

std::size_t PerjoulePolicy::sample(Random& random) const {
  const std::vector<double> epochs = EpochModel(records()).draw(random);
  std::vector<double> costs;
  std::size_t best = arms_.size();
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    costs.push_back(epochs[i] * epoch_cost_at(i, random));
    if (arms_[i].reached() && (best == arms_.size() || costs[i] < costs[best])) best = i;
  }
  // One valley: of the untried sizes only those next to the best one of this draw, no farther than
  // a step, can be better.
  std::size_t chosen = best;
  for (const bool up : {true, false}) {
    for (std::size_t i = best; i != (up ? arms_.size() - 1 : 0);) {
      i = up ? i + 1 : i - 1;
      if (arms_[i].closed()) break;
      const bool next = i + 1 == best || best + 1 == i;
      if (!next && std::abs(log_size(i) - log_size(best)) > kStep) break;
      if (costs[i] < costs[chosen]) chosen = i;
    }
  }
  return chosen;
}

int PerjoulePolicy::next(Random& random, const std::vector<int>& running) {
  const auto is_running = [&](std::size_t i) {
    return std::find(running.begin(), running.end(), spec_.batch_sizes[i]) != running.end();
  };
  const std::optional<std::size_t> known = best();
  if (!known) return spec_.batch_sizes[first_that_may_reach()];
  for (const bool up : {true, false}) {
    const std::optional<std::size_t> step = step_from(*known, up);
    if (step && !is_running(*step)) return spec_.batch_sizes[*step];
  }
  return spec_.batch_sizes[sample(random)];
}

int PerjoulePolicy::most_epochs(int batch_size, Joules epoch_cost) const {
  const std::optional<std::size_t> known = best();
  if (!known || stops_ >= kStopsOfDrift) return kAnyEpochs;
  const Arm& best_arm = arms_[*known];
  const double cost = epoch_cost.value();
  const double bound = std::floor(spec_.beta * best_arm.cost() / cost);
  const int allowed = bound < kAnyEpochs ? std::max(1, static_cast<int>(bound)) : kAnyEpochs;
  const std::size_t index = index_of(batch_size);
  if (arms_[index].reached()) return allowed;
  // Hopeless as soon as its epochs are dear: finish only if that costs less than the epoch thrown
  // away.
  const EpochModel::Prediction epochs = EpochModel(records()).predict(index);
  const double least = std::exp(epochs.log_mean - kHope * epochs.log_deviation) * cost;
  const double loss = std::exp(epochs.log_mean) * cost - best_arm.cost();
  if (least >= best_arm.cost() && loss > cost) return 1;
  // A smaller batch needs no more epochs: one that takes far longer than expected diverges.
  const double most = std::ceil(std::exp(epochs.log_mean + kPatience * epochs.log_spread));
  return index < *known && most < allowed ? std::max(1, static_cast<int>(most)) : allowed;
}

void PerjoulePolicy::report(const TrialResult& result, Joules /*job_cost*/) {
  Arm& arm = arms_[index_of(result.batch_size)];
  const bool drifted = stops_ >= kStopsOfDrift;
  arm.epoch_cost = result.epoch_cost.value();
  if (result.reached) {
    if (drifted) {
      for (Arm& each : arms_) each.forget();
    }
    stops_ = arm.setbacks = 0;
    add(arm, {static_cast<double>(result.epochs)});
    return;
  }
  const bool stopped_before = arm.reached();
  if (stopped_before) ++stops_;
  // Let run to the end and still missed: it is this size that no longer does.
  if (stopped_before && drifted) arm.forget();
  add(arm, {0, result.epochs == 1 && !stopped_before});
}

// A size that reached the target before is given a second chance: one failure may be an accident.
void PerjoulePolicy::report_failure(int batch_size) {
  Arm& arm = arms_[index_of(batch_size)];
  if (arm.reached()) {
    if (++arm.setbacks == 1) return;
    arm.forget();
  }
  add(arm, {});
}

void PerjoulePolicy::add(Arm& arm, Training result) {
  result.number = ++results_;
  if (spec_.window > 0) {
    arm.kept.push_back(result);
    forget_old();
  } else {
    arm.count_in(result);
  }
}

void PerjoulePolicy::forget_old() {
  const std::int64_t oldest =
      results_ - std::int64_t{spec_.window} * static_cast<std::int64_t>(arms_.size());
  for (Arm& arm : arms_) {
    while (arm.kept.size() > static_cast<std::size_t>(spec_.window) ||
           (!arm.kept.empty() && arm.kept.front().number <= oldest))
      arm.kept.pop_front();
    arm.recount();
  }
}

}  // namespace perjoule

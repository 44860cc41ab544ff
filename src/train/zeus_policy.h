// The batch-size optimiser of Zeus (You et al., NSDI 2023, section 4.3), as its authors' simulator
// plays it: pruning exploration, then Gaussian Thompson sampling.
//
// Pruning: two rounds. A round starts at the default batch size (the second one: at the cheapest so
// far), goes down through the smaller sizes, then up through the larger ones; a size that misses
// the target ends its direction. The sizes that reached it survive the round.
//
// Sampling: reward = -cost. Each arm is a normal with flat prior and known precision, learned as
// one over the population variance of its costs: mean the sample mean, standard deviation
// sqrt(variance / n). An arm with fewer than two results is tried first; else one draw an arm, and
// the lowest cost wins.
//
// Early stop: beta times the lowest cost of any recurrence.
#pragma once

#include <map>

#include "train/batch_size_policy.h"

namespace perjoule {

class ZeusPolicy final : public BatchSizePolicy {
 public:
  static Result<std::unique_ptr<BatchSizePolicy>> make(const JobSpec& spec);

  std::string_view name() const override { return "zeus"; }
  int next(Random& random, const std::vector<int>& running) override;
  int most_epochs(int batch_size, Joules epoch_cost) const override;
  void report(const TrialResult& result, Joules job_cost) override;
  void report_never_started(int batch_size) override;

 private:
  explicit ZeusPolicy(JobSpec spec);
  enum class Direction { kStart, kDown, kUp };
  void observe(int batch_size, double cost, bool reached);
  void begin_round();
  void go_on(bool reached);
  void end_round();
  int sample(Random& random) const;

  JobSpec spec_;
  int rounds_left_;
  std::vector<int> sizes_;    ///< of this round, ascending
  std::size_t start_ = 0;     ///< index in sizes_
  std::size_t position_ = 0;  ///< of the size being explored
  Direction direction_ = Direction::kStart;
  std::map<int, double> survivors_;             ///< of this round, with their cost
  std::map<int, std::vector<double>> results_;  ///< costs by batch size, oldest first
  double lowest_cost_ = std::numeric_limits<double>::infinity();
  int best_ = 0;  ///< of the lowest cost
};

}  // namespace perjoule

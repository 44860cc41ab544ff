// The batch-size optimiser of Zeus (You et al., NSDI 2023, section 4.3), as its authors' simulator
// plays it: pruning exploration, then Gaussian Thompson sampling.
//
// Pruning: two rounds. A round starts at the default batch size (the second one: at the cheapest so
// far), goes down through the smaller sizes, then up through the larger ones; a size that misses
// the target ends its direction. The sizes that reached it survive the round.
//
// Sampling: reward = -cost. Each arm is a normal with flat prior and known precision, learned as
// one over the population variance of its costs: mean the sample mean, standard deviation
// sqrt(variance / n). With a CostPrior the variance is known or the prior normal (precisions add).
// An arm with fewer than two results is tried first; else one draw an arm, and the lowest cost
// wins.
//
// Early stop: beta times the lowest cost of any recurrence.
//
// What its simulator does not meet and a service does: a size that fails without a cost is charged
// 100 beta times the lowest cost, and after kStopsOfDrift the bound is lifted for one training.
#pragma once

#include <deque>
#include <map>
#include <set>

#include "train/batch_size_policy.h"

namespace perjoule {

class ZeusPolicy final : public BatchSizePolicy {
 public:
  static Result<std::unique_ptr<BatchSizePolicy>> make(const JobSpec& spec);

  std::string_view name() const override { return "zeus"; }
  int next(Random& random, const std::vector<int>& running) override;
  int most_epochs(int batch_size, Joules epoch_cost) const override;
  void report(const TrialResult& result, Joules job_cost) override;
  void report_failure(int batch_size) override;

 private:
  explicit ZeusPolicy(JobSpec spec);
  enum class Direction { kStart, kDown, kUp };
  /// The costs of one batch size: mean and squared deviations, kept up with each (Welford 1962).
  struct Costs {
    std::deque<double> kept;  ///< the remembered ones, oldest first; only with a window
    double count = 0;
    double mean = 0;
    double squares = 0;
    void add(double cost, int window);
    void count_in(double cost);
  };
  void observe(int batch_size, double cost);
  void explore(int batch_size, double cost, bool reached);
  void remember_lowest(double job_cost, int batch_size);
  void begin_round();
  void go_on(bool reached);
  void end_round();
  int sample(Random& random) const;
  double draw(const Costs& costs, Random& random) const;

  JobSpec spec_;
  int rounds_left_;
  std::vector<int> sizes_;    ///< of this round, ascending
  std::size_t start_ = 0;     ///< index in sizes_
  std::size_t position_ = 0;  ///< of the size being explored
  Direction direction_ = Direction::kStart;
  std::map<int, double> survivors_;  ///< of this round, with their cost
  std::map<int, Costs> results_;     ///< by batch size
  double lowest_cost_ = std::numeric_limits<double>::infinity();
  int best_ = 0;                             ///< of the lowest cost
  std::deque<std::pair<double, int>> last_;  ///< cost and size of recurrences; only with a window
  std::set<int> reached_;                    ///< sizes that ever did
  int stops_ = 0;            ///< trainings in a row, of such sizes, that missed the target
  bool best_fails_ = false;  ///< the last training of best_ failed without a cost
};

}  // namespace perjoule

#include "fleet/plan/fluid_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fleet/plan/clock_choice.h"

namespace perjoule {
namespace {

constexpr int kMostServers = 100'000;

/// What n servers do with a load.
struct Served {
  Watts power = {};
  std::vector<SplitPart> parts = {};
  double unserved = 0;  ///< prompt tokens a second
  double late = 0;
  /// False also without tokens, where the servers are such as would be late.
  bool in_time = true;
};

/// Of an epoch under a number of servers: first what is missed counts, then the goal.
struct EpochFigures {
  double missed_tokens = 0;
  double energy = 0;           ///< J
  double predicted_power = 0;  ///< W at the epoch's mean load and at its highest, together
};

/// A range of bins that have as many servers.
struct Epoch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Epoch> epochs_of(const LoadCurve& load, Seconds length) {
  std::vector<Epoch> epochs;
  const Seconds first = load.bins.front().start;
  double current = -1;
  for (std::size_t i = 0; i < load.bins.size(); ++i) {
    // A hair later than it begins: what was written with a few digits belongs to the next epoch.
    const Seconds at = load.bins[i].start - first + load.bins[i].duration * 1e-6;
    const double number = length.value() > 0 ? std::floor(at / length) : static_cast<double>(i);
    if (epochs.empty() || number != current) epochs.push_back({i, i});
    current = number;
    epochs.back().end = i + 1;
  }
  return epochs;
}

std::string nearest_text(const ServingProfile& profile, const LatencyTarget& target) {
  ClockChoice best;
  for (const ProfileCurve& curve : profile.curves) {
    for (const ServingPoint& point : curve.points) {
      const ClockChoice choice = choose_clock(profile, point.load, target);
      if (choice.nearest && (!best.nearest || choice.nearest_times < best.nearest_times))
        best = choice;
    }
  }
  if (!best.nearest) return "none of its points knows these statistics";
  return fmt::format("nearest is {} at {:g} tokens/s, {:.3g} times what is allowed",
                     text_of(profile.curves[best.nearest->curve]), best.nearest->at.point.load,
                     best.nearest_times);
}

}  // namespace

/// One policy over the whole load.
class FluidRun {
 public:
  FluidRun(const FluidPool& pool, const FluidPolicy& policy)
      : pool_(pool), policy_(policy), rule_{policy.clock, {}, false} {
    if (policy.layout == LayoutScaling::kFixed) rule_.layout = pool.peak_layout_;
    choice_rule_ = rule_;
    // Those that count at the highest clock first choose the clock afterwards.
    if (policy.servers == ServerScaling::kLeast) choice_rule_.clock = ClockScaling::kHighest;
    if (policy.split == LoadSplit::kUnequal) split_.emplace(pool.servers_, pool.most_);
    server_seconds_.assign(pool.servers_.size(), 0);
  }

  FluidReport run() {
    report_.policy = policy_;
    report_.idle = Joules(0);
    Joules total;
    double seconds = 0;
    for (const Epoch& epoch : epochs_of(pool_.load_, pool_.options_.epoch)) {
      const int n = servers_for(epoch);
      Joules energy;
      for (std::size_t i = epoch.begin; i < epoch.end; ++i) energy += take(i, n);
      total += energy;
    }
    for (const FluidBin& bin : report_.bins) {
      report_.mean_servers += bin.servers * bin.duration.value();
      seconds += bin.duration.value();
    }
    report_.mean_servers /= seconds;
    report_.energy.joules = total;
    name_energy();
    name_shares();
    return std::move(report_);
  }

 private:
  double load_at(std::size_t bin) const {
    return pool_.load_.bins[bin].tokens_per_s[pool_.column_];
  }

  Served served_equally(int n, double load, CurveRule rule) const {
    const ServerCurves& servers = pool_.servers_;
    Served served;
    double each = load / n;
    auto use = servers.cheapest(each, rule);
    if (!use) {
      // As much as is in time, and the rest not at all.
      if (const auto highest = servers.highest_load(rule, each)) {
        served.unserved = load - *highest * n;
        each = *highest;
        use = servers.cheapest(each, rule);
      }
    }
    if (!use) {
      // Nothing of it is in time: served late, as far as it goes.
      served.unserved = 0;
      rule.late = true;
      const double most = servers.highest_load(rule).value_or(0);
      if (each > most) served.unserved = load - most * n;
      each = std::min(each, most);
      served.late = each * n;
      served.in_time = false;
      use = servers.cheapest(each, rule);
    }
    if (!use) return {Watts(), {}, load, 0, false};
    served.power = use->power * n;
    served.parts = {{use->curve, n}};
    return served;
  }

  Served served(int n, double load) const {
    if (split_) {
      if (auto split = split_->split(n, load)) return {split->power, std::move(split->parts), 0, 0};
    }
    return served_equally(n, load, rule_);
  }

  EpochFigures figures(const Epoch& epoch, int n) const {
    EpochFigures sum;
    double tokens = 0;
    double time = 0;
    double peak = -1;
    double peak_power = 0;
    for (std::size_t i = epoch.begin; i < epoch.end; ++i) {
      const double load = load_at(i);
      const double seconds = pool_.load_.bins[i].duration.value();
      double power = 0;
      const auto unequal = split_ ? split_->power(n, load) : std::nullopt;
      if (unequal) {
        power = unequal->value();
      } else {
        const Served equal = served_equally(n, load, choice_rule_);
        power = equal.power.value();
        sum.missed_tokens += (equal.unserved + equal.late) * seconds;
        // A bin without tokens may have servers that nothing describes within the latencies.
        if (!equal.in_time || equal.unserved > 0)
          sum.missed_tokens += std::numeric_limits<double>::min();
      }
      sum.energy += power * seconds;
      tokens += load * seconds;
      time += seconds;
      if (load <= peak) continue;
      peak = load;
      peak_power = power;
    }
    const Served mean = served_equally(n, tokens / time, choice_rule_);
    sum.predicted_power = mean.power.value() + peak_power;
    return sum;
  }

  int servers_for(const Epoch& epoch) const {
    if (policy_.servers == ServerScaling::kPeak) return pool_.most_;
    const auto highest = pool_.servers_.highest_load(choice_rule_);
    double peak = 0;
    for (std::size_t i = epoch.begin; i < epoch.end; ++i) peak = std::max(peak, load_at(i));
    // Fewer cannot carry the peak; one less for what rounding does.
    int n = 1;
    if (highest && *highest > 0)
      n = static_cast<int>(std::clamp(std::floor(peak / *highest), 1.0, 1.0 * pool_.most_));
    int best = 0;
    double least_missed = 0;
    double least = 0;
    for (; n <= pool_.most_; ++n) {
      const EpochFigures now = figures(epoch, n);
      const double goal = policy_.servers == ServerScaling::kLeast        ? n
                          : policy_.servers == ServerScaling::kLeastPower ? now.predicted_power
                                                                          : now.energy;
      const bool better = best == 0 || now.missed_tokens < least_missed ||
                          (now.missed_tokens == least_missed && goal < least);
      if (better) {
        best = n;
        least_missed = now.missed_tokens;
        least = goal;
      }
      if (policy_.servers == ServerScaling::kLeast && now.missed_tokens == 0) break;
      // From here on all curves are held: each server more draws as much as this one.
      if (peak / n <= pool_.servers_.lowest_load()) break;
    }
    return best;
  }

  Joules take(std::size_t i, int n) {
    const LoadBin& bin = pool_.load_.bins[i];
    const double load = load_at(i);
    const double seconds = bin.duration.value();
    const Served now = served(n, load);
    report_.bins.push_back(
        {bin.start, bin.duration, n, now.power, now.unserved * seconds, now.late * seconds});
    report_.peak_servers = std::max(report_.peak_servers, n);
    report_.tokens += load * seconds;
    report_.unserved_tokens += now.unserved * seconds;
    report_.late_tokens += now.late * seconds;
    report_.missed_bins += !now.in_time || now.unserved > 0;
    for (const SplitPart& part : now.parts) {
      server_seconds_[part.curve] += part.servers * seconds;
      const ServingPoint& first = pool_.servers_.curve(part.curve).points.front();
      if (first.load > 0) report_.idle.reset();
      if (report_.idle) {
        *report_.idle +=
            first.power * bin.duration * (part.servers * pool_.servers_.instances(part.curve));
      }
    }
    return now.power * bin.duration;
  }

  void name_energy() {
    Energy& energy = report_.energy;
    energy.boundary = Boundary::kDevice;
    energy.status = Status::kMeasured;
    for (std::size_t i = 0; i < server_seconds_.size(); ++i) {
      const ProfileCurve& curve = pool_.servers_.curve(i);
      if (server_seconds_[i] == 0) continue;
      energy.status = less_certain(energy.status, curve.status);
      if (energy.source.find(curve.origin) == std::string::npos)
        energy.source += (energy.source.empty() ? "" : " + ") + curve.origin;
    }
    // Nobody measured this fleet: it is put together, however good its parts are.
    energy.status = less_certain(energy.status, Status::kReconstructed);
  }

  void name_shares() {
    double all = 0;
    for (const double seconds : server_seconds_) all += seconds;
    for (std::size_t i = 0; i < server_seconds_.size(); ++i) {
      if (server_seconds_[i] == 0) continue;
      const ProfileCurve& curve = pool_.servers_.curve(i);
      report_.shares.push_back({curve.layout, curve.clock_mhz, pool_.load_.classes[pool_.column_],
                                server_seconds_[i] / all});
    }
    std::stable_sort(report_.shares.begin(), report_.shares.end(),
                     [](const auto& a, const auto& b) { return a.share > b.share; });
  }

  const FluidPool& pool_;
  const FluidPolicy& policy_;
  CurveRule rule_;         ///< of what servers run at
  CurveRule choice_rule_;  ///< of how many there are
  std::optional<UnequalSplit> split_;
  std::vector<double> server_seconds_;
  FluidReport report_;
};

double FluidReport::attainment() const {
  return tokens > 0 ? 1 - (unserved_tokens + late_tokens) / tokens : 1;
}

Result<FluidPool> FluidPool::make(const ServingProfile& profile, LoadCurve load, std::size_t column,
                                  const FluidOptions& options) {
  PJ_CHECK(check_load(load));
  if (column >= load.classes.size()) return Error::invalid_argument("no such class of the load");
  if (options.most_servers && *options.most_servers < 1)
    return Error::invalid_argument("a fleet of no servers");
  PJ_TRY(ServerCurves servers, ServerCurves::make(profile, options.target));
  const auto highest = servers.highest_load({});
  if (!highest || *highest <= 0) {
    return Error::out_of_range("no point of the profile meets the latencies",
                               nearest_text(profile, options.target));
  }
  const double peak = extent_of(load, column).peak;
  FluidPool pool(std::move(servers), std::move(load), column, options);
  const int limit = options.most_servers.value_or(kMostServers);
  const CurveRule at_highest{ClockScaling::kHighest, {}, false};
  int most = fewest_servers(pool.servers_, peak, limit, at_highest);
  // Where the highest clock does not do it, a lower one may: latencies are measured, and not
  // monotone.
  if (most == 0) most = fewest_servers(pool.servers_, peak, limit, {});
  if (most == 0 && !options.most_servers && peak > *highest * kMostServers) {
    return Error::out_of_range(fmt::format(
        "the peak of {:g} prompt tokens/s takes more than {} servers", peak, kMostServers));
  }
  if (most == 0) most = static_cast<int>(std::clamp(std::ceil(peak / *highest), 1.0, 1.0 * limit));
  pool.most_ = most;
  for (std::optional<Watts> least; const auto& layout : pool.servers_.layouts()) {
    const auto index = static_cast<std::size_t>(&layout - pool.servers_.layouts().data());
    const auto use = pool.servers_.cheapest(peak / most, {ClockScaling::kHighest, index, false});
    if (!use || (least && use->power >= *least)) continue;
    least = use->power;
    pool.peak_layout_ = index;
  }
  return pool;
}

FluidReport FluidPool::run(const FluidPolicy& policy) const {
  return FluidRun(*this, policy).run();
}

}  // namespace perjoule

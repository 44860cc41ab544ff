#include "fleet/engine/load_trial.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "math/log_histogram.h"
#include "math/random.h"

namespace perjoule {
namespace {

constexpr double kWarmUpShare = 0.25;  // of the counted time: a fifth of the whole
constexpr double kInTime = 0.99;
constexpr double kNever = 1e9;

/// Counts what arrived within the counted time.
class TrialSink final : public EngineSink {
 public:
  TrialSink(LiveRequests& live, const ServiceLevels& levels) : live_(live), levels_(levels) {}

  void gaps(std::size_t load_class, Seconds gap, std::int64_t requests) override {
    if (!counts_gaps) return;
    const auto count = static_cast<std::uint64_t>(requests);
    tbt.add(gap.value(), count);
    gaps_[load_class] += count;
    if (gap <= levels_[load_class].between_tokens) gaps_in_time_[load_class] += count;
  }

  void ended(RequestSlot slot, RequestEnd, Seconds) override {
    const LiveRequest& request = live_[slot];
    if (request.arrival >= counted_from && request.arrival < counted_until)
      first_token(request.load_class, (request.first_token - request.arrival).value());
    live_.release(slot);
  }

  /// A request's time to its first token.
  void first_token(std::size_t load_class, double seconds) {
    ttft.add(seconds);
    ++requests_[load_class];
    if (seconds <= levels_[load_class].first_token.value()) ++in_time_[load_class];
  }

  double attainment() const {
    std::uint64_t met = 0;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < kLoadClasses; ++i) {
      all += requests_[i];
      const double share = static_cast<double>(gaps_in_time_[i]);
      if (share >= kInTime * static_cast<double>(gaps_[i])) met += in_time_[i];
    }
    return all == 0 ? 1 : static_cast<double>(met) / static_cast<double>(all);
  }

  LogHistogram ttft;
  LogHistogram tbt;
  Seconds counted_from;
  Seconds counted_until;
  bool counts_gaps = false;

 private:
  LiveRequests& live_;
  const ServiceLevels& levels_;
  std::array<std::uint64_t, kLoadClasses> requests_ = {};
  std::array<std::uint64_t, kLoadClasses> in_time_ = {};
  std::array<std::uint64_t, kLoadClasses> gaps_ = {};
  std::array<std::uint64_t, kLoadClasses> gaps_in_time_ = {};
};

LatencyFigures figures_of(const LogHistogram& histogram) {
  LatencyFigures figures;
  figures[LatencyStatistic::kMean] = Seconds(histogram.mean());
  figures[LatencyStatistic::kP90] = Seconds(histogram.percentile(90));
  figures[LatencyStatistic::kP99] = Seconds(histogram.percentile(99));
  return figures;
}

double mean_prompt(std::span<const TokenLengths> lengths) {
  double sum = 0;
  for (const TokenLengths& one : lengths) sum += static_cast<double>(one.prompt);
  return sum / static_cast<double>(lengths.size());
}

}  // namespace

ServingPoint serve_trial(const StepModel& model, EngineLimits limits, std::size_t clock,
                         const TrialLoad& load, const TrialSize& size) {
  const int count = std::max(1, load.instances);
  const double rate = count * load.prompt_rate / std::max(1.0, mean_prompt(load.lengths));
  const double counted = std::max(size.time.value(), static_cast<double>(size.requests) / rate);
  const double warm_up = kWarmUpShare * counted;
  LiveRequests live;
  TrialSink sink(live, load.levels);
  sink.counted_from = Seconds(warm_up);
  sink.counted_until = Seconds(warm_up + counted);
  std::deque<Instance> instances;
  for (int i = 0; i < count; ++i) {
    instances.emplace_back(model, limits, live, sink, Seconds(0));
    instances.back().set_clock(clock);
  }
  const auto advance = [&](double until) {
    Joules used;
    for (Instance& one : instances) {
      one.advance(Seconds(until));
      used += one.use().busy + one.use().idle;
    }
    return used;
  };
  Random of_arrivals = Random(load.seed).child(1);
  Random of_lengths = Random(load.seed).child(2);
  Joules before;
  double now = 0;
  for (std::uint64_t number = 0;; ++number) {
    now -= std::log(1 - of_arrivals.uniform()) / rate;
    if (!sink.counts_gaps && now >= warm_up) {
      before = advance(warm_up);
      sink.counts_gaps = true;
    }
    if (now >= warm_up + counted) break;
    advance(now);
    const TokenLengths& lengths =
        load.lengths[of_lengths.below(static_cast<std::uint64_t>(load.lengths.size()))];
    LiveRequest request;
    request.arrival = Seconds(now);
    request.number = number;
    request.prompt = std::max<std::int64_t>(1, lengths.prompt);
    request.output = std::max<std::int64_t>(1, lengths.output);
    request.load_class = load_class(input_class(request.prompt), output_class(request.output));
    if (instances.front().fits(request.prompt, request.output)) {
      std::min_element(instances.begin(), instances.end(), [](const auto& a, const auto& b) {
        return a.ahead() < b.ahead();
      })->take(live.add(request));
    } else if (sink.counts_gaps) {
      sink.first_token(request.load_class, kNever);
    }
  }
  ServingPoint point;
  point.load = load.prompt_rate;
  point.power = (advance(warm_up + counted) - before) / Seconds(counted) / count;
  // What is still there is served, to know how long it took, but not for ever.
  advance(warm_up + counted * (1 + size.patience));
  for (Instance& one : instances) {
    for (const RequestSlot slot : one.give_back_all(one.now())) {
      if (std::isnan(live[slot].first_token.value()))
        sink.first_token(live[slot].load_class, kNever);
    }
  }
  point.ttft = figures_of(sink.ttft);
  point.tbt = figures_of(sink.tbt);
  point.attainment = sink.attainment();
  return point;
}

}  // namespace perjoule

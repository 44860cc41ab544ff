#include "fleet/traffic/request_stream.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "math/random.h"

namespace perjoule {
namespace {

constexpr double kMinute = 60;

double instant_of(const TokenLengths& request) {
  return request.arrival.value_or(Seconds(0)).value();
}

/// One request ahead of the trace's minutes: reads until a request of a later minute.
class Replay final : public RequestStream {
 public:
  Replay(AzureTrace trace, ReplayOptions options)
      : trace_(std::move(trace)), options_(options), random_(options.seed) {}

  Result<std::optional<FleetRequest>> next() override {
    while (at_ == minute_.size()) {
      PJ_TRY(const bool more, read_minute());
      if (!more) return std::optional<FleetRequest>();
    }
    return std::optional(minute_[at_++]);
  }
  std::uint64_t out_of_order() const override { return out_of_order_; }

 private:
  /// False at the end of all.
  Result<bool> read_minute() {
    minute_.clear();
    at_ = 0;
    if (!ahead_ && !ended_) PJ_CHECK(read_ahead());
    if (!ahead_) return false;
    const double minute = std::floor(instant_of(*ahead_) / kMinute);
    while (ahead_ && instant_of(*ahead_) < (minute + 1) * kMinute) {
      add(*ahead_, minute * kMinute);
      PJ_CHECK(read_ahead());
    }
    std::stable_sort(
        minute_.begin(), minute_.end(),
        [](const FleetRequest& a, const FleetRequest& b) { return a.arrival < b.arrival; });
    // What came out of order from an earlier minute comes now.
    for (FleetRequest& one : minute_) one.arrival = std::max(one.arrival, issued_);
    if (!minute_.empty()) issued_ = minute_.back().arrival;
    return true;
  }

  Outcome read_ahead() {
    PJ_TRY(ahead_, trace_.next());
    ended_ = !ahead_;
    if (!ahead_) return {};
    if (instant_of(*ahead_) < latest_) ++out_of_order_;
    latest_ = std::max(latest_, instant_of(*ahead_));
    return {};
  }

  void add(const TokenLengths& request, double minute) {
    FleetRequest one{Seconds(instant_of(request)), request.prompt, request.output};
    for (int copy = 0; copy < options_.copies; ++copy) {
      if (options_.copies > 1) one.arrival = Seconds(minute + kMinute * random_.uniform());
      minute_.push_back(one);
    }
  }

  AzureTrace trace_;
  ReplayOptions options_;
  Random random_;
  std::optional<TokenLengths> ahead_;
  bool ended_ = false;
  double latest_ = 0;
  std::uint64_t out_of_order_ = 0;
  std::vector<FleetRequest> minute_;
  std::size_t at_ = 0;
  Seconds issued_;
};

class Drawn final : public RequestStream {
 public:
  Drawn(std::vector<RateBin> bins, std::vector<TokenLengths> lengths, std::uint64_t seed)
      : bins_(std::move(bins)),
        lengths_(std::move(lengths)),
        of_arrivals_(Random(seed).child(1)),
        of_lengths_(Random(seed).child(2)) {}

  Result<std::optional<FleetRequest>> next() override {
    // A Poisson process of varying rate: unit exponential gaps in the integral of the rate.
    double left = -std::log(1 - of_arrivals_.uniform());
    for (; bin_ < bins_.size(); ++bin_) {
      const RateBin& bin = bins_[bin_];
      now_ = std::max(now_, bin.begin.value());
      const double there = (bin.end.value() - now_) * bin.rate.value();
      if (left < there) {
        now_ += left / bin.rate.value();
        const TokenLengths& lengths = of_lengths_.pick(lengths_);
        return std::optional(FleetRequest{Seconds(now_), lengths.prompt, lengths.output});
      }
      left -= there;
    }
    return std::optional<FleetRequest>();
  }

 private:
  std::vector<RateBin> bins_;
  std::vector<TokenLengths> lengths_;
  Random of_arrivals_;
  Random of_lengths_;
  std::size_t bin_ = 0;
  double now_ = 0;
};

}  // namespace

std::unique_ptr<RequestStream> replayed(AzureTrace trace, ReplayOptions options) {
  return std::make_unique<Replay>(std::move(trace), options);
}

std::unique_ptr<RequestStream> drawn(std::vector<RateBin> bins, std::vector<TokenLengths> lengths,
                                     std::uint64_t seed) {
  return std::make_unique<Drawn>(std::move(bins), std::move(lengths), seed);
}

}  // namespace perjoule

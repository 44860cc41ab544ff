#include "fleet/control/load_forecast.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace perjoule {
namespace {

constexpr double kMemory = 1800;  // s, of what was observed

ClassLoads larger(const ClassLoads& a, const ClassLoads& b) {
  ClassLoads both;
  for (std::size_t i = 0; i < kLoadClasses; ++i) both[i] = std::max(a[i], b[i]);
  return both;
}

ClassLoads loads_of(const LoadBin& bin) {
  ClassLoads loads = {};
  for (std::size_t i = 0; i < std::min(kLoadClasses, bin.tokens_per_s.size()); ++i)
    loads[i] = bin.tokens_per_s[i];
  return loads;
}

class Known final : public LoadForecast {
 public:
  explicit Known(LoadCurve load) : load_(std::move(load)) {}

  ClassLoads peak(Seconds from, Seconds until) const override {
    ClassLoads most = {};
    const auto first =
        std::partition_point(load_.bins.begin(), load_.bins.end(),
                             [&](const LoadBin& bin) { return bin.start + bin.duration <= from; });
    for (auto bin = first; bin != load_.bins.end() && bin->start < until; ++bin)
      most = larger(most, loads_of(*bin));
    return most;
  }

  ForecastBasis basis(Seconds, Seconds, std::size_t) const override {
    return ForecastBasis::kKnown;
  }

 private:
  LoadCurve load_;
};

class DailyTemplate final : public LoadForecast {
 public:
  DailyTemplate(std::vector<ClassLoads> bins, double bin_s, const TemplateOptions& options)
      : bins_(std::move(bins)),
        bin_s_(bin_s),
        most_stretch_(options.most_stretch),
        begin_(options.now.value()) {}

  ClassLoads peak(Seconds from, Seconds until) const override {
    ClassLoads most = {};
    const double first = begin_ + from.value();
    const double last = std::max(first, begin_ + until.value() - 1e-9);
    for (double at = std::floor(first / bin_s_); at <= last / bin_s_; ++at)
      most = larger(most, bin(at));
    for (double& load : most) load *= stretch_;
    return most;
  }

  ForecastBasis basis(Seconds, Seconds, std::size_t) const override {
    return ForecastBasis::kHistory;
  }

  void observe(Seconds now, const ClassLoads& loads) override {
    double came = 0;
    double expected = 0;
    const ClassLoads of_template = bin(std::floor((begin_ + now.value()) / bin_s_));
    for (std::size_t i = 0; i < kLoadClasses; ++i) {
      came += loads[i];
      expected += of_template[i];
    }
    const double share = 1 - std::exp(-(now.value() - observed_) / kMemory);
    observed_ = now.value();
    if (!(expected > 0)) return;
    const double ratio = std::clamp(came / expected, 1 / most_stretch_, most_stretch_);
    stretch_ += (ratio - stretch_) * std::clamp(share, 0.0, 1.0);
  }

 private:
  const ClassLoads& bin(double number) const {
    const auto count = static_cast<double>(bins_.size());
    const double at = number - count * std::floor(number / count);
    return bins_[std::min(static_cast<std::size_t>(at), bins_.size() - 1)];
  }

  std::vector<ClassLoads> bins_;
  double bin_s_;
  double most_stretch_;
  double begin_;
  double stretch_ = 1;
  double observed_ = 0;
};

}  // namespace

std::string_view name_of(ForecastBasis basis) {
  switch (basis) {
    case ForecastBasis::kKnown:
      return "known";
    case ForecastBasis::kHistory:
      return "history";
    case ForecastBasis::kPresent:
      return "present";
    case ForecastBasis::kRecent:
      return "recent";
  }
  return "";
}

std::unique_ptr<LoadForecast> known_load(LoadCurve load) {
  return std::make_unique<Known>(std::move(load));
}

Result<std::unique_ptr<LoadForecast>> daily_template(const LoadCurve& history,
                                                     const TemplateOptions& options) {
  PJ_CHECK(check_load(history));
  const double bin_s = history.bins.front().duration.value();
  const auto bins = static_cast<std::size_t>(std::llround(options.day.value() / bin_s));
  if (history.classes.size() != kLoadClasses || bins == 0 || history.bins.size() < bins)
    return Error::invalid_argument("a daily template needs a day or more of nine classes");
  std::vector<ClassLoads> sums(bins, ClassLoads{});
  std::vector<ClassLoads> squares(bins, ClassLoads{});
  std::vector<double> days(bins, 0);
  for (const LoadBin& bin : history.bins) {
    if (std::abs(bin.duration.value() - bin_s) > 1e-6 * bin_s)
      return Error::invalid_argument("a daily template needs bins of the same length");
    const auto at = static_cast<std::size_t>(std::llround(bin.start.value() / bin_s)) % bins;
    const ClassLoads loads = loads_of(bin);
    days[at] += 1;
    for (std::size_t i = 0; i < kLoadClasses; ++i) {
      sums[at][i] += loads[i];
      squares[at][i] += loads[i] * loads[i];
    }
  }
  for (std::size_t at = 0; at < bins; ++at) {
    for (std::size_t i = 0; i < kLoadClasses; ++i) {
      const double mean = days[at] > 0 ? sums[at][i] / days[at] : 0;
      const double variance = days[at] > 0 ? squares[at][i] / days[at] - mean * mean : 0;
      sums[at][i] = mean + options.spread * std::sqrt(std::max(0.0, variance));
    }
  }
  return std::unique_ptr<LoadForecast>(
      std::make_unique<DailyTemplate>(std::move(sums), bin_s, options));
}

}  // namespace perjoule

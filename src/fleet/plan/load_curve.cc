#include "fleet/plan/load_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::string_view kRate = "prompt_tps";
/// A bin each second for some years.
constexpr double kMostBins = 1e8;

Result<LoadCurve> read_ours(const CsvTable& table, double scale) {
  PJ_TRY(const std::size_t start, table.require_column("start_s"));
  PJ_TRY(const std::size_t duration, table.require_column("duration_s"));
  LoadCurve load;
  load.classes.clear();
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const std::string_view name = table.columns()[i];
    if (!name.starts_with(kRate)) continue;
    const std::string_view rest = name.substr(kRate.size());
    if (!rest.empty() && rest.front() != ':') continue;
    const std::string name_of_class(rest.empty() ? rest : rest.substr(1));
    if (std::find(load.classes.begin(), load.classes.end(), name_of_class) != load.classes.end()) {
      return Error::invalid_argument(
          fmt::format("{}: two columns of class '{}'", table.name(), name_of_class));
    }
    columns.push_back(i);
    load.classes.push_back(name_of_class);
  }
  if (columns.empty()) PJ_CHECK(table.require_column(kRate));
  for (std::size_t row = 0; row < table.rows(); ++row) {
    LoadBin bin;
    PJ_TRY(const double from, table.number(row, start));
    PJ_TRY(const double lasts, table.number(row, duration));
    bin.start = Seconds(from);
    bin.duration = Seconds(lasts);
    for (const std::size_t column : columns) {
      PJ_TRY(const double rate, table.number(row, column));
      bin.tokens_per_s.push_back(rate * scale);
    }
    load.bins.push_back(std::move(bin));
  }
  return load;
}

Result<LoadCurve> read_rates(const CsvTable& table, const RequestRates& rates) {
  PJ_TRY(const std::size_t start, table.require_column("minute_start"));
  if (rates.column.empty() || !(rates.tokens_per_request > 0)) {
    return Error::invalid_argument(
        table.name() + ": a table of requests a minute, and nothing says of how many tokens",
        "--column conv_req_per_min --tokens-per-request 1632");
  }
  PJ_TRY(const std::size_t column, table.require_column(rates.column));
  LoadCurve load;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const double minute, table.number(row, start));
    PJ_TRY(const double requests, table.number(row, column));
    LoadBin bin;
    bin.start = Seconds(minute * 60);
    bin.tokens_per_s = {requests * rates.tokens_per_request / 60 * rates.scale};
    load.bins.push_back(std::move(bin));
  }
  if (load.bins.size() < 2)
    return Error::invalid_argument(table.name() + ": too few rows to tell how long one lasts");
  for (std::size_t i = 0; i + 1 < load.bins.size(); ++i)
    load.bins[i].duration = load.bins[i + 1].start - load.bins[i].start;
  load.bins.back().duration = load.bins[load.bins.size() - 2].duration;
  return load;
}

}  // namespace

LoadExtent extent_of(const LoadCurve& load, std::size_t column) {
  LoadExtent extent;
  for (const LoadBin& bin : load.bins) {
    const double rate = bin.tokens_per_s[column];
    extent.peak = std::max(extent.peak, rate);
    extent.tokens += rate * bin.duration.value();
    extent.duration += bin.duration;
  }
  if (extent.duration.value() > 0) extent.mean = extent.tokens / extent.duration.value();
  return extent;
}

Outcome check_load(const LoadCurve& load) {
  if (load.bins.empty()) return Error::invalid_argument(load.origin + ": a load without bins");
  Seconds end = load.bins.front().start;
  for (std::size_t i = 0; i < load.bins.size(); ++i) {
    const LoadBin& bin = load.bins[i];
    const auto refuse = [&](std::string_view what) -> Outcome {
      return Error::invalid_argument(
          fmt::format("{}: bin {} from {:g} s: {}", load.origin, i + 1, bin.start.value(), what));
    };
    if (!std::isfinite(bin.start.value())) return refuse("its beginning is no number");
    if (!(bin.duration.value() > 0) || std::isinf(bin.duration.value()))
      return refuse("its duration is not above 0");
    // Times that were written with a few digits do not meet exactly.
    if (bin.start < end - bin.duration * 1e-6)
      return refuse("it begins before the one before ends");
    end = bin.start + bin.duration;
    if (bin.tokens_per_s.size() != load.classes.size())
      return refuse("it does not have a rate for every class");
    for (const double rate : bin.tokens_per_s) {
      if (!(rate >= 0) || std::isinf(rate)) return refuse("a rate that is below 0 or no number");
    }
  }
  return {};
}

Result<LoadCurve> load_of_arrivals(const std::vector<PromptArrival>& arrivals, Seconds bin,
                                   double scale, std::string origin) {
  if (!(bin.value() > 0) || !(scale > 0) || std::isinf(scale))
    return Error::invalid_argument("a bin or a scale of the load that is not above 0");
  const auto [first, last] = std::minmax_element(
      arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  const double span = arrivals.empty() ? 0 : std::floor((last->at - first->at) / bin);
  if (!(span >= 1))
    return Error::invalid_argument(origin + ": its requests do not fill one bin of " +
                                   to_text(bin));
  if (span > kMostBins) return Error::out_of_range(origin + ": too many bins of " + to_text(bin));
  LoadCurve load;
  load.origin = std::move(origin);
  load.bins.resize(static_cast<std::size_t>(span));
  for (std::size_t i = 0; i < load.bins.size(); ++i)
    load.bins[i] = {bin * static_cast<double>(i), bin, {0}};
  for (const PromptArrival& arrival : arrivals) {
    const auto at = static_cast<std::size_t>((arrival.at - first->at) / bin);
    if (at < load.bins.size()) load.bins[at].tokens_per_s.front() += arrival.tokens;
  }
  for (LoadBin& one : load.bins) one.tokens_per_s.front() *= scale / bin.value();
  PJ_CHECK(check_load(load));
  return load;
}

bool is_load_table(const CsvTable& table) {
  return table.column("start_s").has_value() || table.column("minute_start").has_value();
}

Result<LoadCurve> read_load_curve(const CsvTable& table, const RequestRates& rates) {
  if (!(rates.scale > 0) || std::isinf(rates.scale))
    return Error::invalid_argument("a scale of the load that is not above 0");
  Result<LoadCurve> load =
      table.column("start_s") ? read_ours(table, rates.scale) : read_rates(table, rates);
  if (!load) return fail(load);
  load->origin = table.name();
  PJ_CHECK(check_load(*load));
  return load;
}

}  // namespace perjoule

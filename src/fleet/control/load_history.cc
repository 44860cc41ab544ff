#include "fleet/control/load_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "fleet/traffic/class_load.h"

namespace perjoule {
namespace {

constexpr Seconds kTraceBin = Seconds(60);
/// The fifth of January 1970 was a Monday.
constexpr std::int64_t kMonday = 4 * 86'400 * std::int64_t{1'000'000'000};
/// Of a bin, that times written with a few digits may be off.
constexpr double kSlack = 1e-3;

std::string days(Seconds time) {
  return time >= kHistoryDay ? fmt::format("{:.3g} d", time / kHistoryDay) : to_text(time, 3);
}
std::string_view name_of_cycle(Seconds repeats) { return repeats == kHistoryWeek ? "week" : "day"; }

std::int64_t ns_of(Seconds time) { return std::llround(time.value() * 1e9); }

Result<LoadHistory> read_trace(const std::string& path, const HistorySource& source) {
  if (!source.column.empty() || source.tokens_per_request > 0 || !source.lengths.empty() ||
      source.begins_ns) {
    return Error::invalid_argument(
        path + ": a trace of requests says itself when they came and how long they are",
        "leave out begins, column, tokens-per-request and lengths");
  }
  PJ_TRY(AzureTrace first, AzureTrace::open(path));
  PJ_TRY(const std::optional<TokenLengths> request, first.next());
  if (!request) return Error::data_loss(path + ": no requests");
  PJ_TRY(AzureTrace trace, AzureTrace::open(path));
  const auto stream = replayed(std::move(trace), {});
  LoadHistory history;
  PJ_TRY(history.load, class_load_of(*stream, kTraceBin, *oracle_predictor(),
                                     std::numeric_limits<std::int64_t>::max()));
  history.begins_ns = *first.first_ns();
  for (LoadBin& bin : history.load.bins)
    for (double& rate : bin.tokens_per_s) rate *= source.scale;
  return history;
}

/// Bins of one length, each a whole number of them after the first.
Outcome check_bins(const CsvTable& table, const LoadCurve& load) {
  const LoadBin& first = load.bins.front();
  for (std::size_t i = 0; i < load.bins.size(); ++i) {
    const LoadBin& bin = load.bins[i];
    const double number = (bin.start - first.start) / first.duration;
    if (std::abs(bin.duration / first.duration - 1) < kSlack &&
        std::abs(number - std::round(number)) < kSlack)
      continue;
    return Error::invalid_argument(
        fmt::format("{}: line {}: a bin of {} from {} on, where the first are of {}", table.name(),
                    table.line(i), to_text(bin.duration), to_text(bin.start - first.start),
                    to_text(first.duration)),
        "a template needs bins of the same length");
  }
  return {};
}

Result<LoadHistory> read_table(const std::string& path, const HistorySource& source) {
  PJ_TRY(const CsvTable table, read_csv(path));
  if (!is_load_table(table)) {
    return Error::invalid_argument(
        path + ": neither a trace of requests nor a table of loads",
        "a trace has ContextTokens, a table start_s, duration_s and prompt_tps, or minute_start");
  }
  const bool has_requests = !table.column("start_s").has_value();
  const bool says_requests =
      !source.column.empty() || source.tokens_per_request > 0 || !source.lengths.empty();
  if (says_requests && !has_requests) {
    return Error::invalid_argument(path + ": its load is in prompt tokens already",
                                   "leave out column, tokens-per-request and lengths");
  }
  RequestRates rates;
  rates.column = source.column;
  rates.scale = source.scale;
  rates.tokens_per_request = source.lengths.empty() ? source.tokens_per_request : 1;
  LoadHistory history;
  PJ_TRY(history.load, read_load_curve(table, rates));
  PJ_CHECK(check_bins(table, history.load));
  const Seconds first = history.load.bins.front().start;
  history.begins_ns = source.begins_ns.value_or(kMonday) + ns_of(first);
  if (!source.lengths.empty()) {
    history.load = class_load_of(rate_bins_of(history.load), source.lengths, *oracle_predictor(),
                                 std::numeric_limits<std::int64_t>::max());
  }
  for (LoadBin& bin : history.load.bins) bin.start -= source.lengths.empty() ? first : Seconds(0);
  return history;
}

/// Some bin of each part of the day or week.
Outcome check_cycle(const LoadHistory& history) {
  const std::string& path = history.load.origin;
  const double bins = history.repeats / history.bin();
  if (history.length() < history.repeats * (1 - kSlack)) {
    return Error::invalid_argument(
        fmt::format("{}: {} of load, less than a {}", path, days(history.length()),
                    name_of_cycle(history.repeats)),
        "a template is learnt from one or more of them");
  }
  if (std::abs(bins - std::round(bins)) > kSlack) {
    return Error::invalid_argument(fmt::format("{}: bins of {} do not fill a {} exactly", path,
                                               to_text(history.bin()),
                                               name_of_cycle(history.repeats)));
  }
  std::vector<bool> known(static_cast<std::size_t>(std::llround(bins)), false);
  for (const LoadBin& bin : history.load.bins) {
    const auto number = static_cast<std::size_t>(std::llround(bin.start / history.bin()));
    known[number % known.size()] = true;
  }
  const auto missing = std::count(known.begin(), known.end(), false);
  if (missing == 0) return {};
  return Error::invalid_argument(
      fmt::format("{}: no load is known of {} of the {} bins of a {}", path, missing, known.size(),
                  name_of_cycle(history.repeats)),
      "fill the gaps, or learn a day: repeats = \"day\"");
}

}  // namespace

Result<LoadHistory> read_load_history(const std::string& path, const HistorySource& source) {
  PJ_TRY(const std::string beginning, read_beginning(path, 4096));
  auto history = beginning.find("ContextTokens") != std::string::npos ? read_trace(path, source)
                                                                      : read_table(path, source);
  if (!history) return fail(history);
  history->load.origin = path;
  PJ_CHECK(check_load(history->load));
  history->repeats = source.repeats.value_or(
      history->length() >= kHistoryWeek * (1 - kSlack) ? kHistoryWeek : kHistoryDay);
  PJ_CHECK(check_cycle(*history));
  return std::move(*history);
}

Result<LoadCurve> load_of_pools(const LoadCurve& load, const std::vector<LoadClass>& pools) {
  // The pool of each of the load's columns.
  std::vector<std::size_t> pool_of(load.classes.size(), 0);
  std::array<bool, kLoadClasses> has_load = {};
  for (std::size_t column = 0; !pools.empty() && column < load.classes.size(); ++column) {
    const std::string& name = load.classes[column];
    const auto known = class_named(name);
    if (!known) {
      return Error::invalid_argument(
          name.empty()
              ? fmt::format("{}: a load of all requests, and the fleet has pools of classes",
                            load.origin)
              : fmt::format("{}: no class of requests: '{}'", load.origin, name),
          "a column a pool, prompt_tps:MM, or a trace of requests");
    }
    pool_of[column] = *known;
    has_load[*known] = true;
    const bool has_pool = std::find(pools.begin(), pools.end(), *known) != pools.end();
    if (!has_pool && extent_of(load, column).peak > 0) {
      return Error::invalid_argument(
          fmt::format("{}: a load of class {}, of which the fleet has no pool", load.origin, name));
    }
  }
  for (const LoadClass pool : pools) {
    if (has_load[pool]) continue;
    return Error::invalid_argument(
        fmt::format("{}: no load of class {}, of which the fleet has a pool; it has {}",
                    load.origin, name_of_class(pool), fmt::join(load.classes, ", ")));
  }
  LoadCurve of_pools;
  of_pools.origin = load.origin;
  of_pools.classes.clear();
  for (std::size_t i = 0; i < kLoadClasses; ++i)
    of_pools.classes.emplace_back(pools.empty() ? "" : name_of_class(static_cast<LoadClass>(i)));
  for (const LoadBin& bin : load.bins) {
    LoadBin one{bin.start, bin.duration, std::vector<double>(kLoadClasses, 0.0)};
    for (std::size_t column = 0; column < pool_of.size(); ++column)
      one.tokens_per_s[pool_of[column]] += bin.tokens_per_s[column];
    of_pools.bins.push_back(std::move(one));
  }
  return of_pools;
}

Result<std::unique_ptr<LoadForecast>> forecast_of(const LoadHistory& history,
                                                  std::int64_t unix_ns) {
  const auto since = static_cast<double>(unix_ns - history.begins_ns) * 1e-9;
  return daily_template(history.load, {.day = history.repeats, .now = Seconds(since)});
}

}  // namespace perjoule

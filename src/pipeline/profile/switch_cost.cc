#include "pipeline/profile/switch_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/profile/knob_columns.h"

namespace perjoule {
namespace {

constexpr std::string_view kFrom = "from_";
constexpr std::string_view kTo = "to_";
constexpr double kLongest = 1e6;  // s

}  // namespace

bool SwitchCost::any() const {
  return time.value() > 0 || energy.value() > 0 || dwell.value() > 0 ||
         std::any_of(pairs.begin(), pairs.end(),
                     [](const Pair& one) { return one.time.value() > 0; });
}

Seconds SwitchCost::time_of(const Config& from, const Config& to) const {
  if (from == to) return Seconds(0);
  const auto found = std::find_if(pairs.rbegin(), pairs.rend(), [&](const Pair& one) {
    return one.from == from && one.to == to;
  });
  return found == pairs.rend() ? time : found->time;
}

Seconds SwitchCost::longest() const {
  Seconds longest = time;
  for (const Pair& one : pairs) longest = std::max(longest, one.time);
  return longest;
}

Result<SwitchCost> read_switch_times(const std::string& path) {
  PJ_TRY(const CsvTable table, read_csv(path));
  PJ_TRY(const std::size_t time_column, table.require_column("time"));
  const std::vector<std::size_t> from_columns = columns_with_prefix(table, kFrom);
  std::vector<std::size_t> to_columns;
  for (const std::size_t from : from_columns) {
    const std::string to = std::string(kTo) + table.columns()[from].substr(kFrom.size());
    PJ_TRY(const std::size_t column, table.require_column(to));
    to_columns.push_back(column);
  }
  if (from_columns.empty() || table.rows() == 0) {
    return Error::invalid_argument(
        fmt::format("{} has no {}", path, from_columns.empty() ? "from_ column" : "rows"),
        "it needs columns like from_frequency, to_frequency, one of each for every knob of the "
        "profile, and time, in seconds");
  }
  const KnobReader from(table, from_columns, kFrom);
  const KnobReader to(table, to_columns, kTo);
  SwitchCost cost;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const double time, table.number(row, time_column));
    if (time < 0 || time > kLongest) {
      return Error::invalid_argument(
          fmt::format("{} line {}: a change of {} s", path, table.line(row), time),
          fmt::format("a change takes from 0 to {:g}, in seconds", kLongest));
    }
    cost.pairs.push_back({from.at(row), to.at(row), Seconds(time)});
    cost.time = std::max(cost.time, Seconds(time));
  }
  return cost;
}

std::string switch_times_csv(const SwitchCost& cost) {
  std::string text;
  if (cost.pairs.empty()) return text;
  for (const std::string_view prefix : {kFrom, kTo}) {
    for (const Setting setting : cost.pairs.front().from.settings())
      text += csv_field(std::string(prefix) + std::string(setting.name)) + ",";
  }
  text += "time\n";
  for (const SwitchCost::Pair& one : cost.pairs) {
    for (const Config* const config : {&one.from, &one.to}) {
      for (const Setting setting : config->settings()) text += csv_field(setting.value) + ",";
    }
    text += fmt::format("{}\n", one.time.value());
  }
  return text;
}

}  // namespace perjoule

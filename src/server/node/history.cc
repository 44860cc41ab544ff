#include "server/node/history.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perjoule {
namespace {

std::int64_t floor_divide(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

}  // namespace

History::History() : History({{1, 7'200}, {60, 7 * 1'440}, {3'600, 400 * 24}}) {}

void History::add(const std::string& series, std::int64_t unix_ms, Watts power) {
  if (!std::isfinite(power.value())) return;
  const auto watts = static_cast<float>(power.value());
  const std::lock_guard lock(mutex_);
  Series& one = series_[series];
  if (one.rings.empty()) {
    for (const Level& level : levels_) one.rings.emplace_back(level.buckets);
  }
  if (unix_ms < one.newest_ms) forget_after(one, unix_ms);
  one.newest_ms = unix_ms;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const std::int64_t number = floor_divide(unix_ms, levels_[i].step_s * 1000);
    Bucket& bucket = one.rings[i][static_cast<std::size_t>(number) % levels_[i].buckets];
    if (bucket.number != number) bucket = {.number = number, .least = watts, .most = watts};
    bucket.sum += watts;
    bucket.least = std::min(bucket.least, watts);
    bucket.most = std::max(bucket.most, watts);
    ++bucket.count;
  }
}

void History::forget_after(Series& series, std::int64_t unix_ms) const {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const std::int64_t number = floor_divide(unix_ms, levels_[i].step_s * 1000);
    for (Bucket& bucket : series.rings[i]) {
      if (bucket.number > number) bucket = {};
    }
  }
}

const History::Level& History::level_for(std::int64_t newest_ms, std::int64_t from_ms,
                                         std::size_t& index) const {
  for (index = 0; index + 1 < levels_.size(); ++index) {
    const std::int64_t step_ms = levels_[index].step_s * 1000;
    const std::int64_t oldest =
        floor_divide(newest_ms, step_ms) - static_cast<std::int64_t>(levels_[index].buckets) + 1;
    if (floor_divide(from_ms, step_ms) >= oldest) break;
  }
  return levels_[index];
}

Result<PowerPart> History::part(std::string_view series, std::int64_t from_unix_ms,
                                std::int64_t to_unix_ms, std::size_t points) const {
  PJ_CHECK(check_part(from_unix_ms, to_unix_ms, points));
  const std::lock_guard lock(mutex_);
  const auto found = series_.find(series);
  if (found == series_.end()) {
    return Error::not_found("there is no history of " + std::string(series));
  }
  const Series& one = found->second;
  // Nothing is known of what is to come, and nothing of what no ring holds any more.
  to_unix_ms = std::min(to_unix_ms, one.newest_ms + 1);
  std::size_t index = 0;
  const Level& level = level_for(one.newest_ms, from_unix_ms, index);
  const std::int64_t step_ms = level.step_s * 1000;
  const std::int64_t oldest =
      floor_divide(one.newest_ms, step_ms) - static_cast<std::int64_t>(level.buckets) + 1;
  const std::int64_t first = std::max(floor_divide(from_unix_ms, step_ms), oldest);
  const std::int64_t last = std::max(first, floor_divide(to_unix_ms - 1, step_ms));
  const std::int64_t each =
      (last - first) / static_cast<std::int64_t>(points) + 1;  // buckets of a step
  PowerPart part{.from_unix_ms = first * step_ms,
                 .step = Seconds(static_cast<double>(each * level.step_s))};
  constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t at = first; at <= last; at += each) {
    Bucket sum;
    double watts = 0;
    for (std::int64_t number = at; number < std::min(at + each, last + 1); ++number) {
      const Bucket& bucket = one.rings[index][static_cast<std::size_t>(number) % level.buckets];
      if (bucket.number != number) continue;
      sum.least = sum.count == 0 ? bucket.least : std::min(sum.least, bucket.least);
      sum.most = sum.count == 0 ? bucket.most : std::max(sum.most, bucket.most);
      sum.count += bucket.count;
      watts += static_cast<double>(bucket.sum);
    }
    const bool known = sum.count > 0;
    part.mean.push_back(known ? static_cast<float>(watts / sum.count) : kUnknown);
    part.least.push_back(known ? sum.least : kUnknown);
    part.most.push_back(known ? sum.most : kUnknown);
  }
  return part;
}

std::vector<std::string> History::series() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, one] : series_) names.push_back(name);
  return names;
}

}  // namespace perjoule

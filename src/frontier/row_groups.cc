#include "frontier/row_groups.h"

#include "base/text.h"

namespace perjoule {

bool same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto x = parse_number(a);
  const auto y = parse_number(b);
  return x && y && *x == *y;
}

RowSelection::RowSelection(const PointsOptions& options) {
  for (const auto& wanted : options.where) {
    auto at = std::find_if(conditions_.begin(), conditions_.end(),
                           [&](const Condition& c) { return c.name == wanted.first; });
    if (at == conditions_.end()) at = conditions_.insert(at, Condition{wanted.first, {}});
    at->values.push_back(wanted.second);
  }
}

namespace {
std::string text_of_key(const Config& key) {
  std::string text;
  for (const Setting setting : key.settings()) (text += setting.value) += '\0';
  return text;
}
}  // namespace

void Grouper::add(const Config& key, Point point, std::size_t expected) {
  const auto [at, is_new] = known_.try_emplace(text_of_key(key), groups_.size());
  if (is_new) {
    groups_.push_back({key, RepeatCollector(average_)});
    groups_.back().points.reserve(expected);
  }
  groups_[at->second].points.add(std::move(point));
}

std::vector<PointGroup> Grouper::take() && {
  std::vector<PointGroup> groups;
  for (Group& group : groups_)
    groups.push_back({std::move(group.key), std::move(group.points).take()});
  return groups;
}

}  // namespace perjoule

// Which rows of a table count, and which group each belongs to. Used by points_table.cc and
// table_reader.cc.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontier/points_table.h"
#include "frontier/repeats.h"

namespace perjoule {

/// "8" and "8.0" are the same value, "8" and "08b" are not.
bool same_value(std::string_view a, std::string_view b);

/// The `where` conditions, gathered by column.
class RowSelection {
 public:
  explicit RowSelection(const PointsOptions& options);
  /// Whether all columns match; `value_of(i)` gives the i-th condition's cell.
  template <typename F>
  bool keeps(F&& value_of) const {
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const std::string_view cell = value_of(i);
      const auto& values = conditions_[i].values;
      if (std::none_of(values.begin(), values.end(),
                       [&](const std::string& value) { return same_value(cell, value); }))
        return false;
    }
    return true;
  }
  std::size_t size() const { return conditions_.size(); }
  const std::string& name(std::size_t i) const { return conditions_[i].name; }

 private:
  struct Condition {
    std::string name;
    std::vector<std::string> values;
  };
  std::vector<Condition> conditions_;
};

/// Puts points into the group of their key and averages repeats on the way.
class Grouper {
 public:
  explicit Grouper(bool average) : average_(average) {}
  /// `expected` is how many points the group may get.
  void add(const Config& key, Point point, std::size_t expected = 0);
  /// The groups in order of first appearance.
  std::vector<PointGroup> take() &&;

 private:
  struct Group {
    Config key;
    RepeatCollector points;
  };
  bool average_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::size_t> known_;
};

}  // namespace perjoule

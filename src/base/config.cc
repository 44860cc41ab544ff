#include "base/config.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"

namespace perjoule {

Config::Config(std::vector<Setting> settings) : settings_(std::move(settings)) {
  // Of a name given twice the last value counts, in the first one's place. Most have few settings
  // and no such name; a table of thousands of columns must not take their square.
  if (settings_.size() > 32) {
    std::unordered_set<std::string_view> names;
    for (const Setting& setting : settings_) names.insert(setting.name);
    if (names.size() == settings_.size()) return;
  }
  for (std::size_t i = 1; i < settings_.size();) {
    const auto end = settings_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto first = std::find_if(settings_.begin(), end, [&](const Setting& earlier) {
      return earlier.name == settings_[i].name;
    });
    if (first == end) {
      ++i;
      continue;
    }
    first->value = std::move(end->value);
    settings_.erase(end);
  }
}

void Config::set(std::string_view name, std::string_view value) {
  auto at = std::find_if(settings_.begin(), settings_.end(),
                         [&](const Setting& setting) { return setting.name == name; });
  if (at != settings_.end()) {
    at->value = value;
  } else {
    settings_.push_back(Setting{std::string(name), std::string(value)});
  }
}

const std::string* Config::find(std::string_view name) const {
  for (const Setting& setting : settings_) {
    if (setting.name == name) return &setting.value;
  }
  return nullptr;
}

std::optional<double> Config::number(std::string_view name) const {
  const std::string* value = find(name);
  if (value == nullptr) return std::nullopt;
  return leading_number(*value);
}

std::string Config::text() const {
  std::string joined;
  for (const Setting& setting : settings_) {
    if (!joined.empty()) joined += ", ";
    joined += setting.name + " " + setting.value;
  }
  return joined;
}

}  // namespace perjoule

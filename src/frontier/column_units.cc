#include "frontier/column_units.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace perjoule {

namespace {

struct NamedUnit {
  std::string_view name;
  Dimension dimension;
  double factor;
};

constexpr auto kT = Dimension::kTime;
constexpr auto kE = Dimension::kEnergy;
constexpr auto kP = Dimension::kPower;

// Exact spellings first: only there does case carry meaning.
constexpr std::array kExact{NamedUnit{"MJ", kE, 1e6},  NamedUnit{"GJ", kE, 1e9},
                            NamedUnit{"mJ", kE, 1e-3}, NamedUnit{"MWh", kE, 3.6e9},
                            NamedUnit{"mWh", kE, 3.6}, NamedUnit{"MW", kP, 1e6},
                            NamedUnit{"mW", kP, 1e-3}, NamedUnit{"GWh", kE, 3.6e12}};
constexpr std::array kAnyCase{NamedUnit{"s", kT, 1},
                              NamedUnit{"sec", kT, 1},
                              NamedUnit{"secs", kT, 1},
                              NamedUnit{"second", kT, 1},
                              NamedUnit{"seconds", kT, 1},
                              NamedUnit{"ms", kT, 1e-3},
                              NamedUnit{"msec", kT, 1e-3},
                              NamedUnit{"millis", kT, 1e-3},
                              NamedUnit{"milliseconds", kT, 1e-3},
                              NamedUnit{"us", kT, 1e-6},
                              NamedUnit{"usec", kT, 1e-6},
                              NamedUnit{"microseconds", kT, 1e-6},
                              NamedUnit{"ns", kT, 1e-9},
                              NamedUnit{"min", kT, 60},
                              NamedUnit{"mins", kT, 60},
                              NamedUnit{"minutes", kT, 60},
                              NamedUnit{"h", kT, 3600},
                              NamedUnit{"hour", kT, 3600},
                              NamedUnit{"hours", kT, 3600},
                              NamedUnit{"j", kE, 1},
                              NamedUnit{"joule", kE, 1},
                              NamedUnit{"joules", kE, 1},
                              NamedUnit{"mj", kE, 1e-3},
                              NamedUnit{"millijoules", kE, 1e-3},
                              NamedUnit{"uj", kE, 1e-6},
                              NamedUnit{"microjoules", kE, 1e-6},
                              NamedUnit{"kj", kE, 1e3},
                              NamedUnit{"kilojoules", kE, 1e3},
                              NamedUnit{"wh", kE, 3600},
                              NamedUnit{"kwh", kE, 3.6e6},
                              NamedUnit{"w", kP, 1},
                              NamedUnit{"watt", kP, 1},
                              NamedUnit{"watts", kP, 1},
                              NamedUnit{"kw", kP, 1e3},
                              NamedUnit{"mw", kP, 1e-3},
                              NamedUnit{"milliwatts", kP, 1e-3}};

/// The name cut at everything that is neither letter nor digit.
std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && std::isalnum(static_cast<unsigned char>(name[i])) != 0) continue;
    if (i > begin) words.push_back(name.substr(begin, i - begin));
    begin = i + 1;
  }
  return words;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view entry) { return equals_ignoring_case(word, entry); });
}

}  // namespace

std::optional<FigureUnit> unit_named(std::string_view name) {
  for (const NamedUnit& unit : kExact) {
    if (unit.name == name) return FigureUnit{unit.dimension, unit.factor};
  }
  for (const NamedUnit& unit : kAnyCase) {
    if (equals_ignoring_case(unit.name, name)) return FigureUnit{unit.dimension, unit.factor};
  }
  return std::nullopt;
}

std::optional<FigureUnit> unit_of_column(std::string_view column) {
  const auto words = words_of(column);
  if (words.empty()) return std::nullopt;
  const bool is_throughput = std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return is_one_of(word, {"throughput", "tput", "rate", "qps", "rps"});
  });
  if (is_throughput) return FigureUnit{Dimension::kRate, 1};
  // A name that is a unit and nothing else ("h", "min") is too little to go by.
  const std::size_t last = words.size() - 1;
  if (last > 0) {
    if (const auto unit = unit_named(words[last])) {
      if (!equals_ignoring_case(words[last - 1], "per")) return unit;
      // "per second" is a rate; "per joule" is an efficiency and none of ours.
      if (unit->dimension == Dimension::kTime) return FigureUnit{Dimension::kRate, 1};
      return std::nullopt;
    }
  }
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (equals_ignoring_case(words[i], "per")) return unit_named(words[i - 1]);
  }
  return std::nullopt;
}

bool is_plain_name(std::string_view column, Dimension dimension) {
  auto words = words_of(column);
  if (words.size() > 1 && unit_named(words.back())) words.pop_back();
  if (words.size() == 2 && is_one_of(words[0], {"elapsed", "total", "mean", "avg", "average"}))
    words.erase(words.begin());
  if (words.size() != 1) return false;
  if (dimension == Dimension::kTime)
    return is_one_of(words[0], {"time", "elapsed", "duration", "latency", "runtime"});
  if (dimension == Dimension::kEnergy) return is_one_of(words[0], {"energy", "joules"});
  if (dimension == Dimension::kPower) return is_one_of(words[0], {"power", "watts"});
  return false;
}

bool is_side_figure(std::string_view column) {
  const auto words = words_of(column);
  return std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return is_one_of(word, {"start",       "end",      "begin",  "stamp",   "timestamp", "std",
                            "stddev",      "sd",       "sigma",  "var",     "err",       "error",
                            "uncertainty", "expanded", "random", "lower",   "upper",     "timeout",
                            "deadline",    "limit",    "cap",    "interval"});
  });
}

}  // namespace perjoule

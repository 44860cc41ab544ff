#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

namespace perjoule {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

namespace {
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
}  // namespace

std::vector<std::string> list_words(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (const std::string_view part : split(list, ',')) {
      if (const std::string_view word = trim(part); !word.empty()) words.emplace_back(word);
    }
  }
  return words;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

namespace {
/// The number a text begins with and the rest; from_chars takes no sign '+' and knows no locale.
struct Head {
  double value;
  std::string_view rest;
};
std::optional<Head> number_head(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return Head{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}
}  // namespace

std::optional<double> parse_number(std::string_view text) {
  const auto head = number_head(text);
  if (!head || !head->rest.empty()) return std::nullopt;
  return head->value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_share(std::string_view text) {
  text = trim(text);
  const bool is_percent = text.ends_with('%');
  if (is_percent) text = trim(text.substr(0, text.size() - 1));
  const auto number = parse_number(text);
  if (number && is_percent) return *number / 100;
  return number;
}

std::optional<double> leading_number(std::string_view text) {
  const auto head = number_head(trim(text));
  if (!head) return std::nullopt;
  return head->value;
}

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

/// `text` as number and unit; the first unit of the list is the one a bare number has.
template <std::size_t N>
Result<double> parse_with_unit(std::string_view text, std::string_view quantity,
                               const std::array<Unit, N>& units) {
  const auto head = number_head(trim(text));
  if (head) {
    const std::string_view unit = trim(head->rest);
    if (unit.empty()) return head->value * units.front().factor;
    for (const Unit& candidate : units) {
      if (unit == candidate.name) return head->value * candidate.factor;
    }
  }
  std::string known;
  for (const Unit& unit : units) known += (known.empty() ? "" : ", ") + std::string(unit.name);
  return Error::invalid_argument(fmt::format("not {}: '{}'", quantity, text),
                                 fmt::format("write a number and one of {}", known));
}

}  // namespace

Result<Watts> parse_watts(std::string_view text) {
  constexpr std::array<Unit, 6> kUnits{
      {{"W", 1}, {"mW", 1e-3}, {"uW", 1e-6}, {"kW", 1e3}, {"MW", 1e6}, {"GW", 1e9}}};
  PJ_TRY(const double value, parse_with_unit(text, "a power", kUnits));
  return Watts(value);
}

Result<Joules> parse_joules(std::string_view text) {
  constexpr std::array<Unit, 10> kUnits{{{"J", 1},
                                         {"mJ", 1e-3},
                                         {"uJ", 1e-6},
                                         {"kJ", 1e3},
                                         {"MJ", 1e6},
                                         {"GJ", 1e9},
                                         {"Wh", 3600},
                                         {"mWh", 3.6},
                                         {"kWh", 3.6e6},
                                         {"MWh", 3.6e9}}};
  PJ_TRY(const double value, parse_with_unit(text, "an energy", kUnits));
  return Joules(value);
}

Result<Seconds> parse_seconds(std::string_view text) {
  constexpr std::array<Unit, 8> kUnits{{{"s", 1},
                                        {"ms", 1e-3},
                                        {"us", 1e-6},
                                        {"ns", 1e-9},
                                        {"min", 60},
                                        {"m", 60},
                                        {"h", 3600},
                                        {"d", 86400}}};
  PJ_TRY(const double value, parse_with_unit(text, "a time", kUnits));
  return Seconds(value);
}

Result<Hertz> parse_clock(std::string_view text) {
  constexpr std::array<Unit, 4> kUnits{{{"MHz", 1e6}, {"GHz", 1e9}, {"kHz", 1e3}, {"Hz", 1}}};
  PJ_TRY(const double value, parse_with_unit(text, "a clock", kUnits));
  return Hertz(value);
}

Result<std::vector<double>> parse_range(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Error::invalid_argument(fmt::format("not a range: '{}' ({})", text, why),
                                   "write first:last:step or a list a,b,c");
  };
  std::vector<double> values;
  if (text.find(':') == std::string_view::npos) {
    for (std::string_view part : split(text, ',')) {
      const auto value = parse_number(trim(part));
      if (!value) return bad(fmt::format("'{}' is not a number", part));
      values.push_back(*value);
    }
    return values;
  }
  const auto parts = split(text, ':');
  if (parts.size() != 3) return bad("three parts are wanted");
  std::array<double, 3> bounds{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = parse_number(trim(parts[i]));
    if (!value) return bad(fmt::format("'{}' is not a number", parts[i]));
    bounds[i] = *value;
  }
  const double step = std::abs(bounds[2]);
  if (step == 0) return bad("the step is zero");
  const double count = std::floor(std::abs(bounds[1] - bounds[0]) / step + 1e-9);
  if (count > 100'000) return bad("more than 100000 values");
  const double direction = bounds[1] >= bounds[0] ? step : -step;
  for (int i = 0; i <= static_cast<int>(count); ++i) values.push_back(bounds[0] + direction * i);
  return values;
}

namespace {

constexpr double kLeast = 1e-15;  ///< a FLOP takes picojoules and femtoseconds

struct Scale {
  double factor;
  std::string_view prefix;
};

/// The SI prefix that leaves one to three digits before the point.
Scale scale_for(double value, int digits, double smallest, double largest) {
  constexpr std::array<Scale, 10> kScales{{{1e-15, "f"},
                                           {1e-12, "p"},
                                           {1e-9, "n"},
                                           {1e-6, "u"},
                                           {1e-3, "m"},
                                           {1, ""},
                                           {1e3, "k"},
                                           {1e6, "M"},
                                           {1e9, "G"},
                                           {1e12, "T"}}};
  Scale best{1, ""};
  const double magnitude = std::abs(value);
  if (magnitude == 0) return best;
  best = {smallest, ""};
  for (const Scale& scale : kScales) {
    if (scale.factor < smallest || scale.factor > largest) continue;
    // What rounds up to 1000 belongs to the next prefix: "1.000 kJ", not "1000 J".
    const double rounding = 0.5 * std::pow(10.0, -digits);
    if (scale.factor == smallest || magnitude >= scale.factor * (1 - rounding)) best = scale;
  }
  return best;
}

std::string significant(double value, int digits) {
  if (value == 0) return "0";
  // What rounds up to the next power of ten has one decimal less: 0.99996 is "1.000" in four
  // digits.
  const double rounded_up = std::abs(value) * (1 + 0.5 * std::pow(10.0, -digits));
  const int exponent = static_cast<int>(std::floor(std::log10(rounded_up) + 1e-12));
  const int decimals = std::max(0, digits - 1 - exponent);
  return fixed(value, decimals);
}

std::string with_prefix(double value, int digits, std::string_view unit, double smallest,
                        double largest) {
  if (!std::isfinite(value)) return fmt::format("{} {}", value, unit);
  const Scale scale = scale_for(value, digits, smallest, largest);
  return fmt::format("{} {}{}", significant(value / scale.factor, digits), scale.prefix, unit);
}

}  // namespace

std::string to_text(Joules energy, int digits) {
  return with_prefix(energy.value(), digits, "J", kLeast, 1e12);
}
std::string to_text(Watts power, int digits) {
  return with_prefix(power.value(), digits, "W", 1e-3, 1e9);
}
std::string to_text(Hertz frequency, int digits) {
  return with_prefix(frequency.value(), digits, "Hz", 1, 1e6);
}

std::string to_text(Seconds time, int digits) {
  const double magnitude = std::isfinite(time.value()) ? std::abs(time.value()) : 0;
  if (magnitude >= 3 * 3600) return significant(time.value() / 3600, digits) + " h";
  if (magnitude >= 600) return significant(time.value() / 60, digits) + " min";
  return with_prefix(time.value(), digits, "s", kLeast, 1);
}

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string percent(double fraction, int decimals) {
  return fixed(fraction * 100, decimals) + " %";
}

std::string exact(double value) { return fmt::format("{}", value); }

std::string with_uncertainty(Joules energy, Joules expanded) {
  if (!(expanded.value() > 0) || !std::isfinite(expanded.value())) return to_text(energy);
  const double larger = std::max(std::abs(energy.value()), expanded.value());
  const Scale scale = scale_for(larger, 4, kLeast, 1e12);
  // Two digits of the uncertainty say all it has to say; the value is printed to the same place.
  const double u = expanded.value() / scale.factor;
  const int decimals = std::max(0, 1 - static_cast<int>(std::floor(std::log10(u))));
  return fmt::format("{} +- {} {}J", fixed(energy.value() / scale.factor, decimals),
                     fixed(u, decimals), scale.prefix);
}

namespace {
bool ends_with_any(std::string_view word, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return word.ends_with(ending); });
}
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_vowel(char c) { return std::string_view("aeiou").find(lower(c)) != std::string_view::npos; }
}  // namespace

std::string plural(double count, std::string_view noun) {
  std::string word(noun);
  // What ends in a capital is an abbreviation, what ends in no letter is no English word.
  if (count == 1 || noun.empty() || !is_letter(noun.back()) || noun.back() < 'a') return word;
  if (equals_ignoring_case(noun, "flop")) return word;
  if (word.ends_with('s') && !word.ends_with("ss")) return word;
  if (noun.size() == 1) return word;  // a name, such as an x
  const bool hissing = ends_with_any(word, {"ss", "sh", "x", "z", "tch", "rch", "nch"});
  if (hissing) return word + "es";
  if (word.ends_with('y') && word.size() > 1 && !is_vowel(word[word.size() - 2]))
    return word.substr(0, word.size() - 1) + "ies";
  return word + "s";
}

std::string counted(double count, std::string_view noun) {
  constexpr double kReadsAsDigits = 1e9;  // "1000000 rows", but "2e+09 FLOP"
  const bool digits = std::abs(count) < kReadsAsDigits && count == std::floor(count);
  return digits ? fmt::format("{:.0f} {}", count, plural(count, noun))
                : fmt::format("{:.6g} {}", count, plural(count, noun));
}

std::string with_article(std::string_view noun) {
  // "unit", "user", "use" are said with a consonant.
  const bool as_you = starts_with_ignoring_case(noun, "uni") ||
                      starts_with_ignoring_case(noun, "use") ||
                      starts_with_ignoring_case(noun, "eu");
  if (noun.size() == 1) {  // a letter, as it is said
    const bool as_vowel =
        std::string_view("aefhilmnorsx").find(lower(noun[0])) != std::string_view::npos;
    return (as_vowel ? "an " : "a ") + std::string(noun);
  }
  const bool vowel = !noun.empty() && is_vowel(noun.front()) && !as_you;
  return (vowel || starts_with_ignoring_case(noun, "hour") ? "an " : "a ") + std::string(noun);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++width;
  }
  return width;
}

}  // namespace perjoule

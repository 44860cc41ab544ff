#include "workload/civil_time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>

namespace perjoule {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kFirstYear = 1971;
// int64 nanoseconds end in 2262; below half of that, sums and differences of stamps fit as well.
constexpr int kLastYear = 2100;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes so many digits off the text.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

/// ".25" as nanoseconds; digits beyond the ninth are dropped. None when a point has no digit.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (text.empty() || text.front() != '.') return 0;
  text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  std::int64_t ns = 0;
  std::int64_t place = kSecond / 10;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1), place /= 10)
    ns += (text.front() - '0') * place;
  return ns;
}

/// What the zone is ahead of UTC, in seconds; false when what is there is no zone.
bool take_zone(std::string_view& text, std::optional<std::int64_t>& ahead) {
  if (text.empty()) return true;
  const char sign = text.front();
  text.remove_prefix(1);
  if (sign == 'Z' || sign == 'z') {
    ahead = 0;
    return true;
  }
  if (sign != '+' && sign != '-') return false;
  const auto hours = take_digits(text, 2);
  if (!text.empty() && text.front() == ':') text.remove_prefix(1);
  const auto minutes = take_digits(text, 2);
  if (!hours || !minutes || *hours > 15 || *minutes > 59) return false;
  ahead = (sign == '-' ? -1 : 1) * (*hours * 3600 + *minutes * 60);
  return true;
}

/// The fields by letter.
struct Fields {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;

  int* of(char letter) {
    switch (letter) {
      case 'Y':
        return &year;
      case 'M':
        return &month;
      case 'D':
        return &day;
      case 'h':
        return &hour;
      case 'm':
        return &minute;
      case 's':
        return &second;
      default:
        return nullptr;
    }
  }
};

std::chrono::year_month_day date_of(const Fields& f) {
  return std::chrono::year(f.year) / std::chrono::month(static_cast<unsigned>(f.month)) /
         std::chrono::day(static_cast<unsigned>(f.day));
}

bool in_range(const Fields& f) {
  return f.year >= kFirstYear && f.year <= kLastYear && date_of(f).ok() && f.hour < 24 &&
         f.minute < 60 && f.second < 60;
}

/// Seconds since 1970 of these fields in a zone that far ahead of UTC.
std::int64_t seconds_in_zone(const Fields& f, std::int64_t ahead) {
  const std::int64_t days = std::chrono::sys_days(date_of(f)).time_since_epoch().count();
  return days * 86400 + f.hour * 3600 + f.minute * 60 + f.second - ahead;
}

/// The same in this machine's zone. An hour that daylight saving has twice is whichever the C
/// library takes.
std::int64_t seconds_local(const Fields& f) {
  std::tm local = {};
  local.tm_year = f.year - 1900;
  local.tm_mon = f.month - 1;
  local.tm_mday = f.day;
  local.tm_hour = f.hour;
  local.tm_min = f.minute;
  local.tm_sec = f.second;
  local.tm_isdst = -1;
  return std::mktime(&local);
}

}  // namespace

std::optional<std::int64_t> parse_stamp(std::string_view text, std::string_view form,
                                        std::optional<Seconds> utc_offset) {
  Fields fields;
  for (const char letter : form) {
    if (int* field = fields.of(letter)) {
      const auto value = take_digits(text, letter == 'Y' ? 4 : 2);
      if (!value) return std::nullopt;
      *field = *value;
      continue;
    }
    if (text.empty()) return std::nullopt;
    const bool same =
        letter == ' ' ? text.front() == ' ' || text.front() == 'T' : text.front() == letter;
    if (!same) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!in_range(fields)) return std::nullopt;
  const auto fraction = take_fraction(text);
  std::optional<std::int64_t> ahead;
  if (!fraction || !take_zone(text, ahead) || !text.empty()) return std::nullopt;
  // Nobody is more than 14 hours ahead; what is meant by more is not known.
  constexpr double kMostAhead = 86400;
  std::int64_t offset_ns = 0;
  if (!ahead && utc_offset) {
    if (!(std::abs(utc_offset->value()) <= kMostAhead)) return std::nullopt;
    ahead = 0;
    offset_ns = std::llround(utc_offset->value() * 1e9);
  }
  const std::int64_t seconds = ahead ? seconds_in_zone(fields, *ahead) : seconds_local(fields);
  return seconds * kSecond + *fraction - offset_ns;
}

std::optional<std::int64_t> ns_of_unix_seconds(double seconds) {
  constexpr double kYear = 365.25 * 86400;
  const bool known =
      seconds >= (kFirstYear - 1970) * kYear && seconds <= (kLastYear - 1970) * kYear;  // no NaN
  if (!known) return std::nullopt;
  // Whole seconds apart: a double of today's time has no more than a quarter of a microsecond.
  const double whole = std::floor(seconds);
  return static_cast<std::int64_t>(whole) * kSecond + std::llround((seconds - whole) * 1e9);
}

}  // namespace perjoule

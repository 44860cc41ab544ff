// Numbers and quantities to and from text, the same everywhere: what a user may type and what we
// print.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace perjoule {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
/// The words of all the lists "a,b", trimmed, empty ones left out, as in a variable that is put
/// together. The command line's lists are read more strictly (cli/verb.h).
std::vector<std::string> list_words(const std::vector<std::string>& lists);
bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);
bool equals_ignoring_case(std::string_view a, std::string_view b);

/// The whole text as a finite number in C notation; no locale, no surrounding space, no trailing
/// words.
std::optional<double> parse_number(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);
/// "5%", "5 %" or "0.05" as 0.05; whether it may be below 0 or above 1 is for the caller to say.
std::optional<double> parse_share(std::string_view text);
/// The number a text begins with ("300 W" gives 300).
std::optional<double> leading_number(std::string_view text);

/// "300", "300W", "1.2 kW", "350000mW"; a bare number is in SI units.
Result<Watts> parse_watts(std::string_view text);
/// "5kWh", "300 J", "2 Wh", "1.5MJ".
Result<Joules> parse_joules(std::string_view text);
/// "100ms", "2 s", "5min", "1h", "20us"; a bare number is seconds.
Result<Seconds> parse_seconds(std::string_view text);
/// "1410", "1410MHz", "1.4GHz"; a bare number is megahertz, as every vendor's tool has it.
Result<Hertz> parse_clock(std::string_view text);
/// "200:700:100" (first:last:step, ends included, either direction), or a list "200,300,450".
Result<std::vector<double>> parse_range(std::string_view text);

/// Up to `digits` significant digits with an SI prefix that reads well: "1.23 kJ", "85.2 mJ", "700
/// W".
std::string to_text(Joules energy, int digits = 4);
std::string to_text(Watts power, int digits = 4);
std::string to_text(Seconds time, int digits = 4);
std::string to_text(Hertz frequency, int digits = 4);
/// "12.30": so many decimals, and never "-0.00": what rounds to nothing has no sign.
std::string fixed(double value, int decimals);
/// "12.3 %".
std::string percent(double fraction, int decimals = 1);
/// Shortest decimal that reads back as the same double.
std::string exact(double value);
/// "1234.5 J +- 20 J" with the digits the uncertainty warrants.
std::string with_uncertainty(Joules energy, Joules expanded);

/// A count and its noun: "1 step", "66 steps", "2e+09 FLOP", "3 of 12 points" is made of it too.
/// Names of quantities that have no plural (FLOP, J, anything in capitals) stay as they are, and so
/// does a noun that is one already.
std::string counted(double count, std::string_view noun);
/// The noun alone, in the number that goes with the count.
std::string plural(double count, std::string_view noun);
/// "a step", "an epoch", "a unit", "an image".
std::string with_article(std::string_view noun);

/// Columns in a terminal that a text takes: UTF-8 sequences count once.
std::size_t display_width(std::string_view text);

}  // namespace perjoule

#include "serving/load/token_lengths.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/csv.h"
#include "base/text.h"
#include "math/random.h"

namespace perjoule {
namespace {

/// So many digits at the front of the text, which are taken from it.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return {};
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return {};
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_mark(std::string_view& text, std::string_view marks) {
  if (text.empty() || marks.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

struct Stamp {
  std::int64_t seconds = 0;  ///< since 1970, of whatever zone
  double fraction = 0;
};

/// "2023-11-16 18:17:03.9799600", with or without "Z" or "+00:00" behind it.
std::optional<Stamp> stamp_of(std::string_view text) {
  using std::chrono::day;
  using std::chrono::month;
  using std::chrono::year;
  const auto y = take_number(text, 4);
  const bool has_month = y && take_mark(text, "-");
  const auto m = has_month ? take_number(text, 2) : std::nullopt;
  const bool has_day = m && take_mark(text, "-");
  const auto d = has_day ? take_number(text, 2) : std::nullopt;
  const bool has_hour = d && take_mark(text, " T");
  const auto hour = has_hour ? take_number(text, 2) : std::nullopt;
  const bool has_minute = hour && take_mark(text, ":");
  const auto minute = has_minute ? take_number(text, 2) : std::nullopt;
  const bool has_second = minute && take_mark(text, ":");
  const auto second = has_second ? take_number(text, 2) : std::nullopt;
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return {};
  const std::chrono::year_month_day date(year(*y), month(static_cast<unsigned>(*m)),
                                         day(static_cast<unsigned>(*d)));
  if (!date.ok()) return {};
  Stamp stamp;
  if (take_mark(text, ".")) {
    double unit = 0.1;
    bool has_digit = false;
    while (const auto digit = take_number(text, 1)) {
      stamp.fraction += *digit * unit;
      unit /= 10;
      has_digit = true;
    }
    if (!has_digit) return {};
  }
  if (!text.empty() && text != "Z" && text != "+00:00") return {};
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  stamp.seconds = days * 86'400 + *hour * 3'600 + *minute * 60 + *second;
  return stamp;
}

Outcome check(const LengthLaw& law, std::string_view which) {
  const auto wrong = [&](const std::string& why) {
    return Error::invalid_argument("the law of " + std::string(which) + "s: " + why);
  };
  if (!std::isfinite(law.mean) || law.mean <= 0) return wrong("its mean must be above 0");
  if (law.least < 1 || law.most < law.least)
    return wrong("its bounds must be above 0, the least below the most");
  const bool needs_spread = law.kind == LengthKind::kUniform || law.kind == LengthKind::kLogNormal;
  if (needs_spread && (!std::isfinite(law.spread) || law.spread < 0))
    return wrong("its spread must be 0 or above");
  if (law.kind == LengthKind::kPareto && (!std::isfinite(law.spread) || law.spread <= 1))
    return wrong("a Pareto law has a mean for a shape above 1 only: " + exact(law.spread));
  return {};
}

std::int64_t drawn(const LengthLaw& law, Random& random) {
  double value = law.mean;
  switch (law.kind) {
    case LengthKind::kFixed:
      break;
    case LengthKind::kUniform:
      value += law.spread * (2 * random.uniform() - 1);
      break;
    case LengthKind::kExponential:
      value *= -std::log(1 - random.uniform());
      break;
    case LengthKind::kPareto:
      value *= (law.spread - 1) / law.spread * std::pow(1 - random.uniform(), -1 / law.spread);
      break;
    case LengthKind::kLogNormal:
      value *= std::exp(law.spread * random.normal() - law.spread * law.spread / 2);
      break;
  }
  // As numbers, so that what is beyond all integers comes down to the bound.
  return static_cast<std::int64_t>(
      std::clamp(std::round(value), static_cast<double>(law.least), static_cast<double>(law.most)));
}

constexpr std::array<std::string_view, 32> kWords = {
    "time",    "year",    "people",   "way",    "day",        "man",    "thing",   "woman",
    "life",    "child",   "world",    "school", "state",      "family", "student", "group",
    "country", "problem", "hand",     "part",   "place",      "case",   "week",    "company",
    "system",  "program", "question", "work",   "government", "number", "night",   "point"};

std::string ids_text(std::int64_t tokens, TokenIds ids, Random& random) {
  std::string text = "[";
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (i > 0) text += ',';
    text += std::to_string(ids.first + random.below(std::max<std::uint32_t>(1, ids.count)));
  }
  return text + ']';
}

std::string words_text(std::int64_t tokens, Random& random) {
  std::string text = R"([{"role":"user","content":")";
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (i > 0) text += ' ';
    text += kWords[random.below(kWords.size())];
  }
  return text + R"("}])";
}

}  // namespace

Result<std::vector<TokenLengths>> lengths_of_azure_trace(std::string_view text,
                                                         std::string_view name) {
  PJ_TRY(const CsvTable table, parse_csv(text, name));
  PJ_TRY(const std::size_t stamps, table.require_column("TIMESTAMP"));
  PJ_TRY(const std::size_t prompts, table.require_column("ContextTokens"));
  PJ_TRY(const std::size_t outputs, table.require_column("GeneratedTokens"));
  std::vector<TokenLengths> lengths;
  lengths.reserve(table.rows());
  Stamp first;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto stamp = stamp_of(table.cell(row, stamps));
    const auto prompt = parse_integer(table.cell(row, prompts));
    const auto output = parse_integer(table.cell(row, outputs));
    if (!stamp || !prompt || !output || *prompt < 0 || *output < 0) {
      return Error::data_loss(std::string(name) + ": line " + std::to_string(table.line(row)) +
                              ": no instant and two counts of tokens");
    }
    if (row == 0) first = *stamp;
    lengths.push_back({*prompt, *output,
                       Seconds(static_cast<double>(stamp->seconds - first.seconds) +
                               (stamp->fraction - first.fraction))});
  }
  return lengths;
}

Result<std::vector<TokenLengths>> drawn_lengths(const LengthLaw& prompt, const LengthLaw& output,
                                                std::size_t count, std::uint64_t seed) {
  PJ_CHECK(check(prompt, "prompt"));
  PJ_CHECK(check(output, "output"));
  // A stream each, so that another law of the one leaves the other as it was.
  Random of_prompts = Random(seed).child(1);
  Random of_outputs = Random(seed).child(2);
  std::vector<TokenLengths> lengths(count);
  for (TokenLengths& one : lengths) {
    one.prompt = drawn(prompt, of_prompts);
    one.output = drawn(output, of_outputs);
  }
  return lengths;
}

std::vector<Prompt> prompts_of_lengths(const std::vector<TokenLengths>& lengths, PromptForm form,
                                       std::uint64_t seed, TokenIds ids) {
  std::vector<Prompt> prompts;
  prompts.reserve(lengths.size());
  for (const TokenLengths& one : lengths) {
    Random random = Random(seed).child(prompts.size());
    // A server refuses a prompt of nothing; traces have some.
    const std::int64_t tokens = std::max<std::int64_t>(1, one.prompt);
    Prompt& prompt = prompts.emplace_back();
    if (form == PromptForm::kTokenIds) {
      prompt.text = ids_text(tokens, ids, random);
    } else {
      prompt.messages = words_text(tokens, random);
    }
    prompt.prompt_tokens = tokens;
    prompt.output_tokens = std::max<std::int64_t>(1, one.output);
    prompt.arrival = one.arrival;
  }
  return prompts;
}

}  // namespace perjoule

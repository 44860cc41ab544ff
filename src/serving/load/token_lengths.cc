#include "serving/load/token_lengths.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "math/random.h"

namespace perjoule {
namespace {

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

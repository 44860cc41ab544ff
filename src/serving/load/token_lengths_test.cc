#include "serving/load/token_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/json.h"
#include "base/test_data.h"

namespace perjoule {
namespace {

double mean_of(const LengthLaw& law) {
  constexpr std::size_t kCount = 200'000;
  const auto lengths = drawn_lengths(law, {}, kCount, 7);
  EXPECT_TRUE(lengths) << lengths.error().text();
  double sum = 0;
  for (const TokenLengths& one : *lengths) {
    EXPECT_GE(one.prompt, law.least);
    EXPECT_LE(one.prompt, law.most);
    EXPECT_EQ(one.output, 1);
    sum += static_cast<double>(one.prompt);
  }
  return sum / kCount;
}

TEST(TokenLengths, MeansOfTheLaws) {
  EXPECT_DOUBLE_EQ(mean_of({LengthKind::kFixed, 500}), 500);
  EXPECT_NEAR(mean_of({LengthKind::kUniform, 500, 400}), 500, 2);
  // Bounds that hardly anything reaches; half a token is what rounding up to the least one adds.
  EXPECT_NEAR(mean_of({LengthKind::kExponential, 300}), 300, 3);
  EXPECT_NEAR(mean_of({LengthKind::kLogNormal, 500, 0.5}), 500, 3);
  EXPECT_NEAR(mean_of({LengthKind::kPareto, 500, 2.5, 1, 10'000'000}), 500, 10);
  EXPECT_DOUBLE_EQ(mean_of({LengthKind::kExponential, 1e30, 0, 1, 4096}), 4096);
}

TEST(TokenLengths, APareto) {
  const auto lengths = drawn_lengths({LengthKind::kPareto, 500, 2.5}, {}, 100'000, 7);
  std::vector<std::int64_t> prompts;
  for (const TokenLengths& one : *lengths) prompts.push_back(one.prompt);
  std::sort(prompts.begin(), prompts.end());
  EXPECT_EQ(prompts.front(), 300);
  const double median = 300 * std::pow(2, 1 / 2.5);
  EXPECT_NEAR(static_cast<double>(prompts[50'000]), median, 3);
}

TEST(TokenLengths, TheSeedDecidesAndEachLawHasItsOwnStream) {
  const LengthLaw law{LengthKind::kExponential, 300};
  const auto one = drawn_lengths(law, law, 20, 1);
  const auto other = drawn_lengths({LengthKind::kFixed, 5}, law, 20, 1);
  const auto seed = drawn_lengths(law, law, 20, 2);
  bool differs = false;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ((*one)[i].output, (*other)[i].output);
    differs = differs || (*one)[i].output != (*seed)[i].output;
  }
  EXPECT_TRUE(differs);
}

TEST(TokenLengths, LawsThatAreNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const LengthLaw& law :
       {LengthLaw{LengthKind::kFixed, 0}, LengthLaw{LengthKind::kFixed, nan},
        LengthLaw{LengthKind::kFixed, 5, 0, 0, 9}, LengthLaw{LengthKind::kFixed, 5, 0, 9, 8},
        LengthLaw{LengthKind::kPareto, 5, 1}, LengthLaw{LengthKind::kPareto, 5, nan},
        LengthLaw{LengthKind::kUniform, 5, -1}, LengthLaw{LengthKind::kLogNormal, 5, nan}}) {
    EXPECT_EQ(drawn_lengths(law, {}, 1, 1).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(drawn_lengths({}, law, 1, 1).error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(TokenLengths, PromptsOfTheirLength) {
  const std::vector<TokenLengths> lengths = {{5, 7, Seconds(1)}, {0, 0, {}}, {5, 7, {}}};
  const auto prompts = prompts_of_lengths(lengths, PromptForm::kTokenIds, 1, {100, 50});
  ASSERT_EQ(prompts.size(), 3U);
  const Json ids = parse_json(prompts[0].text).value();
  ASSERT_EQ(ids.as_array()->size(), 5U);
  for (const Json& id : *ids.as_array()) {
    EXPECT_GE(*id.as_integer(), 100);
    EXPECT_LT(*id.as_integer(), 150);
  }
  EXPECT_EQ(prompts[0].output_tokens, 7);
  EXPECT_EQ(prompts[0].arrival, Seconds(1));
  EXPECT_EQ(prompts[1].prompt_tokens, 1);
  EXPECT_EQ(prompts[1].output_tokens, 1);
  EXPECT_NE(prompts[0].text, prompts[2].text);

  const auto words = prompts_of_lengths(lengths, PromptForm::kWords, 1);
  const Json messages = parse_json(words[0].messages).value();
  const std::string content = *messages.as_array()->front().string("content");
  EXPECT_EQ(std::count(content.begin(), content.end(), ' '), 4);
  EXPECT_TRUE(words[0].text.empty());
}

}  // namespace
}  // namespace perjoule

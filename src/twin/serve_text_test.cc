#include "twin/serve_text.h"

#include <gtest/gtest.h>

#include <set>

namespace perjoule::twin {
namespace {

TEST(ServeText, TokensAreFourCharactersAtMostAndEndAtSpaces) {
  EXPECT_EQ(tokens_of("").size(), 0u);
  EXPECT_EQ(tokens_of("abcd").size(), 1u);
  EXPECT_EQ(tokens_of("abcde").size(), 2u);
  EXPECT_EQ(tokens_of("a b c").size(), 3u);
  EXPECT_EQ(tokens_of("  ").size(), 2u);
  EXPECT_EQ(tokens_of("größ").size(), 1u);  // characters, not bytes
  EXPECT_EQ(tokens_of("\x80\x80").size(), 1u);
}

TEST(ServeText, EqualPiecesGiveEqualTokens) {
  const auto tokens = tokens_of(" one two one");
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0], tokens[2]);
  EXPECT_NE(tokens[0], tokens[1]);
}

TEST(ServeText, TheSameRequestGetsTheSameAnswerAndOthersAnother) {
  const auto prompt = tokens_of("what is a joule");
  const std::uint64_t seed = answer_seed(prompt, 0);
  EXPECT_EQ(seed, answer_seed(prompt, 0));
  EXPECT_NE(seed, answer_seed(prompt, 1));
  EXPECT_NE(seed, answer_seed(tokens_of("what is a watt"), 0));
  std::set<std::uint32_t> said;
  for (int i = 0; i < 400; ++i) said.insert(answer_token(seed, i));
  EXPECT_GT(said.size(), 25u);  // of 32
}

TEST(ServeText, AnswersEndByThemselves) {
  std::set<int> lengths;
  for (std::uint64_t salt = 0; salt < 200; ++salt) {
    const int length = answer_length(answer_seed({}, salt));
    EXPECT_GE(length, 16);
    EXPECT_LE(length, 511);
    lengths.insert(length);
  }
  EXPECT_GT(lengths.size(), 100u);
}

TEST(ServeText, SomePiecesAreNotAscii) {
  bool any = false;
  for (std::uint32_t token = 0; token < 32; ++token) {
    EXPECT_EQ(piece_of(token).front(), ' ');
    for (const char c : piece_of(token)) any |= static_cast<unsigned char>(c) >= 0x80U;
  }
  EXPECT_TRUE(any);
}

}  // namespace
}  // namespace perjoule::twin

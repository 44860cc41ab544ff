#include "net/line_buffer.h"

#include <gtest/gtest.h>

#include <vector>

namespace perjoule {
namespace {

using Lines = std::vector<std::string>;
using namespace std::string_literals;

/// All lines that come of some pieces.
Lines lines_of(LineBuffer& buffer, const Lines& pieces) {
  Lines lines;
  for (const std::string& piece : pieces) {
    buffer.add(piece);
    while (const auto line = buffer.next()) lines.emplace_back(*line);
  }
  return lines;
}

TEST(LineBuffer, LinesAreTheSameHoweverTheyAreCut) {
  const std::string text = "one\n\ntwo \r\nth\0ree\nrest"s;
  const Lines all{"one", "", "two \r", "th\0ree"s};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    Lines pieces;
    for (std::size_t at = 0; at < text.size(); at += piece)
      pieces.push_back(text.substr(at, piece));
    LineBuffer buffer(100);
    EXPECT_EQ(lines_of(buffer, pieces), all) << piece;
    EXPECT_FALSE(buffer.too_long());
    EXPECT_EQ(lines_of(buffer, {"\n"}), Lines{"rest"});
  }
}

TEST(LineBuffer, LinesMayWaitInIt) {
  LineBuffer buffer(100);
  buffer.add("a\nb\nc");
  EXPECT_EQ(buffer.next(), "a");
  buffer.add("d\n");
  EXPECT_EQ(buffer.next(), "b");
  EXPECT_EQ(buffer.next(), "cd");
  EXPECT_FALSE(buffer.next());
  buffer.add("");
  EXPECT_FALSE(buffer.next());
}

TEST(LineBuffer, ALineThatIsTooLongEndsItWhetherWholeOrNot) {
  for (const Lines& pieces :
       {Lines{"1234\n12345\n1\n"}, Lines{"1234\n12345"}, Lines{"1234\n1", "2345", "\n1\n"}}) {
    LineBuffer buffer(4);
    EXPECT_EQ(lines_of(buffer, pieces), Lines{"1234"});
    EXPECT_TRUE(buffer.too_long());
    EXPECT_EQ(lines_of(buffer, {"\n", "1\n"}), Lines{});
  }
}

}  // namespace
}  // namespace perjoule

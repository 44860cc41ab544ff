#include "base/csv.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

TEST(Csv, ReadsWhatPeopleWrite) {
  const auto table = parse_csv(
      "\xEF\xBB\xBFname,\"energy, J\"\r\n# note\r\nx,1.5\r\n\"a \"\"b\"\"\",2\r\n\r\n", "t.csv");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->columns(), (std::vector<std::string>{"name", "energy, J"}));
  ASSERT_EQ(table->rows(), 2U);
  EXPECT_EQ(table->cell(1, 0), "a \"b\"");
  EXPECT_EQ(*table->number(1, 1), 2);
  EXPECT_EQ(table->line(1), 4U);
}

TEST(Csv, DecimalCommaWithSemicolons) {
  const auto table = parse_csv("t;e\n1,5;2\n", "t.csv");
  ASSERT_TRUE(table);
  EXPECT_EQ(*table->number(0, 0), 1.5);
}

TEST(Csv, LastLineNeedsNoNewline) {
  const auto table = parse_csv("a,b\n1,2", "t.csv");
  ASSERT_TRUE(table);
  EXPECT_EQ(*table->number(0, 1), 2);
}

TEST(Csv, ErrorsNameFileAndLine) {
  EXPECT_EQ(parse_csv("a,b\n1,2\n3\n", "t.csv").error().message,
            "t.csv: line 3: 1 fields where the header has 2");
  EXPECT_EQ(parse_csv("a,b\n1,\"2\n", "t.csv").error().message,
            "t.csv: line 2: a quote is opened and never closed");
  EXPECT_EQ(parse_csv("a,a\n", "t.csv").error().message, "t.csv: line 1: column 'a' appears twice");
  EXPECT_EQ(parse_csv("", "t.csv").error().message, "t.csv: empty: no header row");
  const auto nan = parse_csv("a,b\n1,nan\n", "t.csv");
  EXPECT_EQ(nan->number(0, 1).error().message,
            "t.csv: line 2, column 'b': not a finite number: 'nan'");
}

TEST(Csv, APointBetweenThousandsIsSaidToBeOne) {
  const auto table = parse_csv("t;e\n1,5;1.234,5\n", "t.csv");
  ASSERT_TRUE(table);
  const auto number = table->number(0, 1);
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().message,
            "t.csv: line 2, column 'e': not a number: '1.234,5': it has both a point and a comma");
  EXPECT_EQ(number.error().remedy, "write numbers without marks between the thousands");
}

TEST(Csv, NewlinesInsideQuotesKeepTheLineCount) {
  const auto table = parse_csv("a\n\"x\ny\"\nz\n", "t.csv");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->line(1), 4U);
}

TEST(Csv, ColumnNamesMatchExactlyFirstThenInAnyCase) {
  const auto table = parse_csv("Time,time\n1,2\n", "t.csv");
  EXPECT_EQ(table->column("time"), 1U);
  EXPECT_EQ(table->column("TIME"), 0U);
  EXPECT_EQ(table->column("x"), std::nullopt);
}

TEST(Csv, FieldsAreQuotedOnlyWhenTheyMustBe) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(csv_field("# 1"), "\"# 1\"");
}

TEST(Csv, WhatIsWrittenIsReadBack) {
  for (const std::string_view odd : {"a\r", "# x", " ", "", "\r\n", "\"", " # x", "a;b"}) {
    const auto first = parse_csv("x,y\n" + csv_field(odd) + ",1\n", "t.csv");
    ASSERT_TRUE(first) << first.error().text();
    ASSERT_EQ(first->rows(), 1U) << odd;
    EXPECT_EQ(first->cell(0, 0), odd);
    const auto last = parse_csv("x,y\n1," + csv_field(odd) + "\n", "t.csv");
    ASSERT_TRUE(last) << last.error().text();
    EXPECT_EQ(last->cell(0, 1), odd);
  }
}

TEST(Csv, MillionRows) {
  std::string text = "t,e\n";
  for (int i = 0; i < 1'000'000; ++i) text += "1.25,3\n";
  const auto table = parse_csv(text, "big.csv");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows(), 1'000'000U);
  EXPECT_EQ(*table->number(999'999, 0), 1.25);
}

TEST(Csv, CellsAreTheSameHoweverTheyAreWrittenInTheFile) {
  // Quotes and carriage returns go, so that later cells move up in the text's own memory.
  const auto table = take_csv(
      "\xEF\xBB\xBF"
      "a,b,c\r\n\"x\"\"y\",\"\",3\r\n# note\r\n\"1\n2\",\"p,q\",\r\n\r\n4,5,6",
      "t");
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows(), 3U);
  const char* expected[3][3] = {{"x\"y", "", "3"}, {"1\n2", "p,q", ""}, {"4", "5", "6"}};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column)
      EXPECT_EQ(table->cell(row, column), expected[row][column]) << row << column;
  }
  EXPECT_EQ(table->line(2), 7U);
}

}  // namespace
}  // namespace perjoule

#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {
TEST(Json, KeepsOrderAndReadsBackTheSame) {
  Json run = Json::object();
  run["schema"] = "perjoule.run.v1";
  run["joules"] = 0.1;
  run["parts"].push_back(1);
  run["parts"].push_back(nullptr);
  const std::string text = run.dump();
  EXPECT_EQ(text, R"({"schema":"perjoule.run.v1","joules":0.1,"parts":[1,null]})");
  EXPECT_EQ(*parse_json(text), run);
}

TEST(Json, NotANumberPrintsAsNull) {
  Json value = Json::object();
  value["x"] = std::nan("");
  EXPECT_EQ(value.dump(), R"({"x":null})");
}

TEST(Json, ErrorsNameLineAndColumn) {
  const auto bad = parse_json("{\"a\": 1,\n \"b\": }");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message.rfind("not JSON: line 2, column 7: ", 0), 0U)
      << bad.error().message;
}

TEST(Json, RefusesWhatIsCutOrTooDeep) {
  EXPECT_FALSE(parse_json(""));
  EXPECT_FALSE(parse_json("[1, 2"));
  EXPECT_FALSE(parse_json("1 2"));
  EXPECT_FALSE(parse_json(std::string(300, '[') + std::string(300, ']')));
}

TEST(Json, WrongKindsAreAbsentRatherThanConverted) {
  const Json value = *parse_json(R"({"n": 3, "s": "x", "f": 2.5})");
  EXPECT_EQ(value.integer("n"), 3);
  EXPECT_EQ(value.number("n"), 3.0);
  EXPECT_EQ(value.integer("f"), std::nullopt);
  EXPECT_EQ(value.string("n"), std::nullopt);
  EXPECT_EQ(value.number("absent"), std::nullopt);
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) { EXPECT_EQ(Json("a\xFF").dump(), "\"a\xEF\xBF\xBD\""); }

TEST(Json, OfANameGivenTwiceTheLastValueCounts) {
  EXPECT_EQ(parse_json(R"({"a":1,"b":2,"a":3})")->dump(), R"({"a":3,"b":2})");
  std::string many = "{";
  for (int i = 0; i < 40; ++i)
    many += "\"k" + std::to_string(i % 30) + "\":" + std::to_string(i) + ",";
  many.back() = '}';
  const auto parsed = parse_json(many);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->as_object()->size(), 30U);
  EXPECT_EQ(parsed->integer("k3"), 33);
  EXPECT_EQ(parsed->integer("k29"), 29);
}

TEST(Json, AnObjectOfManyMembersIsNotQuadratic) {
  std::string wide = "{";
  for (int i = 0; i < 200'000; ++i) wide += "\"k" + std::to_string(i) + "\":1,";
  wide.back() = '}';
  const auto parsed = parse_json(wide);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->dump(), wide);
}
}  // namespace
}  // namespace perjoule

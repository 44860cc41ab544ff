#include "cli/fleet_control_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fleet_control_file.h"

namespace perjoule::cli {
namespace {

using ::testing::HasSubstr;

Result<FleetControlFile> read(const std::string& history) {
  return read_fleet_control(
      "[fleet]\npolicy = \"scale-freq\"\nprofile = \"p.csv\"\nhistory = " + history +
          "\n[[server]]\nname = \"n\"\n[[server.instance]]\nurl = \"n:1\"\ngpus = [\"0\"]\n",
      "f.toml");
}

TEST(FleetControlHistory, IsAFileOrATable) {
  const auto plain = read("\"week.csv\"");
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_EQ(plain->history->file, "week.csv");
  EXPECT_EQ(plain->history->place, "f.toml:4");
  const auto all = read(
      "{ file = \"r.csv\", column = \"c\", tokens-per-request = 1632, scale = 0.5, begins = "
      "\"2024-05-12 02:00+02:00\", repeats = \"week\" }");
  ASSERT_TRUE(all) << all.error().text();
  const HistorySource& source = all->history->source;
  EXPECT_EQ(source.column, "c");
  EXPECT_EQ(source.tokens_per_request, 1632);
  EXPECT_EQ(source.scale, 0.5);
  EXPECT_EQ(source.begins_ns, 1'715'472'000'000'000'000);  // 2024-05-12 00:00 UTC
  EXPECT_EQ(source.repeats, kHistoryWeek);
  EXPECT_EQ(read("{ file = \"r.csv\", begins = \"2024-05-12\" }")->history->source.begins_ns,
            1'715'472'000'000'000'000);
}

TEST(FleetControlHistory, NamesLineAndKey) {
  const auto refuses = [](const std::string& history, const std::string& words) {
    const auto file = read(history);
    ASSERT_FALSE(file) << words;
    EXPECT_THAT(file.error().text(), HasSubstr("f.toml:4: "));
    EXPECT_THAT(file.error().text(), HasSubstr(words));
  };
  refuses("[\"a\"]", "a text");
  refuses("{ column = \"c\" }", "needs a file");
  refuses("{ file = \"a\", zone = \"UTC\" }", "no key of 'history': 'zone'");
  refuses("{ file = \"a\", begins = \"Monday\" }", "of UTC where it names no zone");
  refuses("{ file = \"a\", repeats = \"month\" }", "day or week");
  refuses("{ file = \"a\", scale = 0 }", "a number");
  refuses("{ file = \"a\", lengths = \"t\", tokens-per-request = 5 }", "say the same");
  const auto words = read("\"none.csv\"")->history;
  const auto missing = load_history(*words, "/nowhere/f.toml", false, {});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().text(), HasSubstr("f.toml:4: history: "));
  EXPECT_THAT(missing.error().text(), HasSubstr("/nowhere/none.csv"));
}

}  // namespace
}  // namespace perjoule::cli

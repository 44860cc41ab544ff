#include "serving/bench/sweep_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "base/json.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

Config config(const std::vector<Setting>& settings) { return Config(settings); }

TEST(SweepKey, NamesAPointAndNoOther) {
  EXPECT_EQ(sweep_key(config({{"concurrency", "8"}, {"max-num-seqs", "32"}})),
            "concurrency=8,max-num-seqs=32");
  std::set<std::string> keys;
  const std::vector<std::string> values{
      "a/b", "a_b", "a b", "a:b", "", "..", std::string(300, 'x'), std::string(301, 'x'), "\n"};
  for (const std::string& value : values) {
    const std::string key = sweep_key(config({{"k", value}}));
    EXPECT_TRUE(keys.insert(key).second) << key;
    EXPECT_LE(key.size(), 120u);
    EXPECT_EQ(key.find('/'), std::string::npos);
    EXPECT_EQ(key.find(' '), std::string::npos);
  }
  EXPECT_NE(sweep_key(config({{"url", "1,concurrency=2"}})),
            sweep_key(config({{"url", "1"}, {"concurrency", "2"}})));
  EXPECT_EQ(sweep_key({}), "point");
}

TEST(SweepFolder, APointIsDoneWhenItsFileIsThere) {
  const TempTree tree;
  const std::string path = tree / "sweep";
  auto folder = SweepFolder::open(path);
  ASSERT_TRUE(folder) << folder.error().text();
  const Config one = config({{"b", "8"}}), two = config({{"b", "16"}});
  EXPECT_FALSE(folder->is_done(one));
  EXPECT_FALSE(folder->keep(one)) << "nothing was measured";
  ASSERT_TRUE(write_file_atomically(folder->part_of(one), "{}"));
  EXPECT_FALSE(folder->is_done(one));
  ASSERT_TRUE(folder->keep(one));
  EXPECT_TRUE(folder->is_done(one));
  ASSERT_TRUE(folder->write_index({one, two}));
  const auto index = parse_json(read_file(path + "/index.json").value());
  ASSERT_TRUE(index);
  const auto& points = *index->find("points")->as_array();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_TRUE(*points[0].find("done")->as_bool());
  EXPECT_FALSE(*points[1].find("done")->as_bool());
  EXPECT_EQ(points[1].find("settings")->string("b"), "16");
}

TEST(SweepFolder, OneSweepAtATime) {
  const TempTree tree;
  {
    const auto first = SweepFolder::open(tree / "sweep");
    ASSERT_TRUE(first);
    const auto second = SweepFolder::open(tree / "sweep");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  }
  EXPECT_TRUE(SweepFolder::open(tree / "sweep"));
}

TEST(SweepFolder, AnotherSweepsResultsAreNotMixedIn) {
  const TempTree tree;
  const auto folder = SweepFolder::open(tree / "sweep");
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->agree_on("requests=512\n"));
  EXPECT_TRUE(folder->agree_on("requests=512\n"));
  const auto other = folder->agree_on("requests=64\n");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace perjoule

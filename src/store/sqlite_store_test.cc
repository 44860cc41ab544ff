#include "store/sqlite_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "base/file.h"

namespace perjoule {
namespace {

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/pj_store_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
    path_ = folder_ + "/deep/runs.db";
    auto opened = SqliteStore::open(path_, StoreAccess::kWrite);
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = std::move(*opened);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  RunRecord run(std::int64_t second, const std::string& project = "p") {
    RunRecord record;
    record.started_unix_ns = 1'700'000'000'000'000'000 + second * 1'000'000'000;
    record.duration = Seconds(1.5);
    record.host = "node";
    record.command = "train --lr 'x'";
    record.project = project;
    record.tags = {"search", "b", "a"};
    record.unit = "step";
    record.document["schema"] = "perjoule.run.v1";
    record.document["joules"] = 12.1;
    return record;
  }

  std::string folder_;
  std::string path_;
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteStoreTest, ARunIsReadBackExactly) {
  RunRecord before = run(0);
  StoredTimeline gpu{"gpu:0", 17, Seconds(0.001), {}};
  for (int i = 0; i < 200'000; ++i) gpu.watts.push_back(static_cast<float>(i) * 0.1F);
  gpu.watts[5] = std::nanf("");
  before.timelines = {gpu, {"cpu:0/package", 18, Seconds(0.1), {}}};
  const auto id = store_->save_run(before);
  ASSERT_TRUE(id) << id.error().text();
  const auto after = store_->load_run(*id);
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(after->id, *id);
  EXPECT_EQ(after->started_unix_ns, before.started_unix_ns);
  EXPECT_EQ(after->duration, before.duration);
  EXPECT_EQ(after->host, before.host);
  EXPECT_EQ(after->command, before.command);
  EXPECT_EQ(after->tags, before.tags);
  EXPECT_EQ(after->unit, before.unit);
  EXPECT_EQ(after->document, before.document);
  ASSERT_EQ(after->timelines.size(), 2U);
  EXPECT_EQ(after->timelines[0].t0_unix_ns, 17);
  EXPECT_EQ(after->timelines[0].dt, Seconds(0.001));
  ASSERT_EQ(after->timelines[0].watts.size(), 200'000U);
  EXPECT_TRUE(std::isnan(after->timelines[0].watts[5]));
  EXPECT_EQ(after->timelines[0].watts[199'999], 199'999 * 0.1F);
  EXPECT_TRUE(after->timelines[1].watts.empty());
  EXPECT_EQ(store_->samples(*id, "none").error().code, ErrorCode::kNotFound);
}

TEST_F(SqliteStoreTest, ListsNewestFirstByProjectAndTag) {
  RunRecord tagged = run(2, "q");
  tagged.tags = {"final"};
  for (const RunRecord& record : {run(1), tagged, run(3)}) ASSERT_TRUE(store_->save_run(record));
  const auto all = store_->list_runs({});
  ASSERT_EQ(all->size(), 3U);
  EXPECT_GT((*all)[0].started_unix_ns, (*all)[1].started_unix_ns);
  EXPECT_EQ((*all)[0].tags.size(), 3U);
  EXPECT_TRUE((*all)[0].timelines.empty());
  EXPECT_EQ(store_->list_runs({"q", "", 0})->size(), 1U);
  EXPECT_EQ(store_->list_runs({"", "final", 0})->size(), 1U);
  EXPECT_EQ(store_->list_runs({"p", "final", 0})->size(), 0U);
  EXPECT_EQ(store_->list_runs({"", "", 2})->size(), 2U);
}

TEST_F(SqliteStoreTest, WordsForARun) {
  RunRecord a = run(1);
  a.id = "abc1";
  RunRecord b = run(2);
  b.id = "abd2";
  ASSERT_TRUE(store_->save_run(a));
  ASSERT_TRUE(store_->save_run(b));
  EXPECT_EQ(*store_->find_run("last"), "abd2");
  EXPECT_EQ(*store_->find_run("last~1"), "abc1");
  EXPECT_EQ(*store_->find_run("abc"), "abc1");
  EXPECT_EQ(store_->find_run("ab").error().message,
            "more than one run begins with 'ab': abc1, abd2");
  EXPECT_EQ(store_->find_run("x").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->find_run("").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->find_run("%").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->find_run("last~2").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->find_run("last~x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store_->save_run(a).error().code, ErrorCode::kConflict);
}

TEST_F(SqliteStoreTest, DeletingTakesTagsAndSamplesAlong) {
  RunRecord record = run(1);
  record.timelines = {{"gpu:0", 0, Seconds(1), {1, 2, 3}}};
  const std::string id = *store_->save_run(record);
  ASSERT_TRUE(store_->delete_run(id));
  EXPECT_EQ(store_->load_run(id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->delete_run(id).error().code, ErrorCode::kNotFound);
  record.id = id;  // would collide with rows left behind
  EXPECT_TRUE(store_->save_run(record));
}

TEST_F(SqliteStoreTest, AnotherProcessSeesWhatWasSavedWhileBothAreOpen) {
  auto reader = SqliteStore::open(path_, StoreAccess::kRead);
  ASSERT_TRUE(reader) << reader.error().text();
  ASSERT_TRUE(store_->save_run(run(1)));
  EXPECT_EQ((*reader)->list_runs({})->size(), 1U);
  EXPECT_EQ((*reader)->save_run(run(2)).error().code, ErrorCode::kPermissionDenied);
}

TEST(RunId, SortsByTimeAndIsShort) {
  const std::int64_t second = 1'000'000'000;
  const std::int64_t now = 1'790'000'000 * second;
  EXPECT_EQ(make_run_id(now, 0).size(), 11U);
  EXPECT_LT(make_run_id(now, 0x7FFF), make_run_id(now + 1'000'000, 0));
  EXPECT_LT(make_run_id(now, 1), make_run_id(now, 2));
  EXPECT_EQ(make_run_id(0, 0), "00000000000");
  std::set<std::string> ids;
  for (std::uint32_t i = 0; i < 32768; ++i) ids.insert(make_run_id(now, i));
  EXPECT_EQ(ids.size(), 32768U);
}
}  // namespace
}  // namespace perjoule

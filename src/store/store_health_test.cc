#include "store/store_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "store/sqlite_store.h"

namespace perjoule {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StoreHealthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/pj_health_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ + "/state/runs.db";
  }
  void TearDown() override { fs::remove_all(folder_); }
  void keep_a_run() {
    auto store = SqliteStore::open(path_, StoreAccess::kWrite);
    ASSERT_TRUE(store) << store.error().text();
    RunRecord run;
    run.document["n"] = 1;
    ASSERT_TRUE((*store)->save_run(run));
  }
  std::string folder_;
  std::string path_;
};

TEST_F(StoreHealthTest, NothingYetIsFine) {
  const StoreHealth health = examine_store(path_);
  EXPECT_TRUE(health.reads && health.keeps) << health.text;
  EXPECT_THAT(health.text, HasSubstr("no run"));
  EXPECT_EQ(health.remedy, "");
  EXPECT_FALSE(path_exists(folder_ + "/state"));  // it only looked
}

TEST_F(StoreHealthTest, CountsTheRuns) {
  keep_a_run();
  const StoreHealth health = examine_store(path_);
  EXPECT_TRUE(health.reads && health.keeps) << health.text;
  EXPECT_THAT(health.text, HasSubstr("1 run in " + path_));
}

TEST_F(StoreHealthTest, AFileWhereTheFolderShouldBe) {
  std::ofstream(folder_ + "/state") << "x";
  const StoreHealth health = examine_store(path_);
  EXPECT_FALSE(health.reads || health.keeps);
  EXPECT_THAT(health.text, HasSubstr(folder_ + "/state: not a folder"));
  EXPECT_THAT(health.remedy, HasSubstr("PERJOULE_STATE"));
  const auto opened = SqliteStore::open(path_, StoreAccess::kRead);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);  // not "no run is stored yet"
  EXPECT_EQ(SqliteStore::open(path_, StoreAccess::kWrite).error().code, ErrorCode::kUnavailable);
}

TEST_F(StoreHealthTest, ANewerVersion) {
  keep_a_run();
  auto database = Database::open(path_, Database::Mode::kCreate, Seconds(1));
  ASSERT_TRUE(database && database->execute("PRAGMA user_version = 99"));
  const StoreHealth health = examine_store(path_);
  EXPECT_FALSE(health.reads || health.keeps);
  EXPECT_THAT(health.text, HasSubstr("version 99"));
  EXPECT_NE(health.remedy, "");
}

TEST_F(StoreHealthTest, ADamagedFileWhereverTheDamageIs) {
  keep_a_run();
  {
    auto database = Database::open(path_, Database::Mode::kCreate, Seconds(1));
    ASSERT_TRUE(database->execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE"));
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 + 100);  // the header page stays whole: opening sees nothing
  file << std::string(3 * 4096, '\xAA');
  file.close();
  const StoreHealth health = examine_store(path_);
  EXPECT_FALSE(health.reads || health.keeps) << health.text;
  EXPECT_THAT(health.text, HasSubstr(path_));
  EXPECT_THAT(health.remedy, HasSubstr("move it away"));
}

TEST_F(StoreHealthTest, SomethingElseOfThatName) {
  fs::create_directories(folder_ + "/state");
  std::ofstream(path_) << std::string(5000, 'x');
  const StoreHealth health = examine_store(path_);
  EXPECT_FALSE(health.reads || health.keeps);
  EXPECT_NE(health.remedy, "");
}

TEST_F(StoreHealthTest, AFolderThatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  keep_a_run();
  ::chmod((folder_ + "/state").c_str(), 0555);
  const StoreHealth health = examine_store(path_);
  ::chmod((folder_ + "/state").c_str(), 0755);
  EXPECT_TRUE(health.reads);
  EXPECT_FALSE(health.keeps);
  EXPECT_THAT(health.remedy, HasSubstr("writable"));
}

}  // namespace
}  // namespace perjoule

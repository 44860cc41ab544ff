// What can go wrong with a store: full disk, no permission, a newer version, damage, a lock, two
// writers, a writer killed half-way. Each gives a clear error and loses nothing that was saved.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/file.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"

namespace perjoule {
namespace {

namespace fs = std::filesystem;

RunRecord small_run(std::int64_t n) {
  RunRecord record;
  record.started_unix_ns = 1'700'000'000'000'000'000 + n;
  record.command = std::to_string(n);
  record.document["n"] = n;
  return record;
}

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/pj_faults_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ + "/runs.db";
  }
  void TearDown() override {
    ::chmod(folder_.c_str(), 0755);
    fs::remove_all(folder_);
  }
  std::unique_ptr<Store> writable(const SqliteOptions& options = {}) {
    auto store = SqliteStore::open(path_, StoreAccess::kWrite, options);
    EXPECT_TRUE(store) << store.error().text();
    return store ? std::move(*store) : nullptr;
  }
  /// Runs `body` in a child, as an ordinary user where we are root, whom no permission stops.
  template <typename F>
  int in_child(F&& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(99);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string folder_;
  std::string path_;
};

TEST_F(Faults, AFullStoreSavesNothingOfTheRunAndKeepsTheOthers) {
  auto store = writable({Seconds(5), 400'000});
  ASSERT_TRUE(store->save_run(small_run(1)));
  RunRecord large = small_run(2);
  large.timelines = {{"gpu:0", 0, Seconds(1), std::vector<float>(1'000'000, 1.F)}};
  const auto refused = store->save_run(large);
  EXPECT_EQ(refused.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(refused.error().message.find("no space left for the store"), std::string::npos);
  EXPECT_EQ(store->list_runs({})->size(), 1U);
  EXPECT_TRUE(store->save_run(small_run(3)));
}

TEST_F(Faults, AFullDiskIsReportedAsOne) {
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=600k") != 0)
    GTEST_SKIP() << "mounting a small disk needs root";
  {
    auto store = writable();
    EXPECT_TRUE(store->save_run(small_run(1)));
    RunRecord large = small_run(2);
    large.timelines = {{"gpu:0", 0, Seconds(1), std::vector<float>(1'000'000, 1.F)}};
    EXPECT_EQ(store->save_run(large).error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(store->list_runs({})->size(), 1U);
  }
  ::umount(folder_.c_str());
}

TEST_F(Faults, AReadOnlyFolderCanStillBeListed) {
  ASSERT_TRUE(writable()->save_run(small_run(1)));  // closed again: the log is folded in
  ::chmod(path_.c_str(), 0444);
  ::chmod(folder_.c_str(), 0555);
  EXPECT_EQ(in_child([&] {
              const auto reader = SqliteStore::open(path_, StoreAccess::kRead);
              if (!reader) return 1;
              const auto runs = (*reader)->list_runs({});
              return runs && runs->size() == 1 ? 0 : 2;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              const auto writer = SqliteStore::open(path_, StoreAccess::kWrite);
              return !writer && writer.error().code == ErrorCode::kPermissionDenied ? 0 : 1;
            }),
            0);
}

TEST_F(Faults, ANewerStoreIsNamedAndLeftAlone) {
  { ASSERT_TRUE(writable()->save_run(small_run(1))); }
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "PRAGMA user_version = 7", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  for (const StoreAccess access : {StoreAccess::kRead, StoreAccess::kWrite}) {
    const auto store = SqliteStore::open(path_, access);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(store.error().message, path_ +
                                         ": the store is of version 7, this perjoule knows up to " +
                                         std::to_string(kStoreVersion));
  }
}

TEST_F(Faults, WhatIsNoStoreIsNotTouched) {
  ASSERT_TRUE(write_file_atomically(path_, std::string(5000, 'x')));
  EXPECT_EQ(SqliteStore::open(path_, StoreAccess::kWrite).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(*read_file(path_), std::string(5000, 'x'));
  fs::remove(path_);
  sqlite3* raw = nullptr;
  sqlite3_open(path_.c_str(), &raw);
  sqlite3_exec(raw, "CREATE TABLE t(x)", nullptr, nullptr, nullptr);
  sqlite3_close(raw);
  EXPECT_EQ(SqliteStore::open(path_, StoreAccess::kWrite).error().message,
            path_ + ": another program's database, not a store");
}

TEST_F(Faults, ADamagedStoreIsSaidToBe) {
  {
    auto store = writable();
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(store->save_run(small_run(i)));
  }
  std::string bytes = *read_file(path_);
  for (std::size_t i = 8192; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  ASSERT_TRUE(write_file_atomically(path_, bytes));
  const auto store = SqliteStore::open(path_, StoreAccess::kRead);
  const auto runs = store ? (*store)->list_runs({}) : Result<std::vector<RunRecord>>(fail(store));
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(runs.error().text().find(".recover"), std::string::npos) << runs.error().text();
}

TEST_F(Faults, ALockIsWaitedForAndThenNamed) {
  auto store = writable({Seconds(0.05), 0});
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto locked = store->save_run(small_run(1));
  EXPECT_EQ(locked.error().code, ErrorCode::kConflict);
  EXPECT_NE(locked.error().message.find("another process holds the store"), std::string::npos);
  EXPECT_TRUE(store->list_runs({}));  // readers do not wait
  sqlite3_exec(raw, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(raw);
  EXPECT_TRUE(store->save_run(small_run(1)));
}

TEST_F(Faults, NoStoreYet) {
  EXPECT_EQ(SqliteStore::open(path_, StoreAccess::kRead).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(write_file_atomically(path_, ""));
  EXPECT_EQ(SqliteStore::open(path_, StoreAccess::kRead).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(writable()->save_run(small_run(1)));
}

TEST_F(Faults, TwoProcessesWritingLoseNothing) {
  constexpr int kRuns = 200;
  std::vector<pid_t> children;
  for (int who = 0; who < 2; ++who) {
    const pid_t child = ::fork();
    if (child == 0) {
      // The file does not exist yet: making and migrating it races as well.
      const auto store = SqliteStore::open(path_, StoreAccess::kWrite, {Seconds(60), 0});
      if (!store) ::_exit(1);
      for (int i = 0; i < kRuns; ++i) {
        if (!(*store)->save_run(small_run(who * 1000 + i))) ::_exit(2);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(writable()->list_runs({})->size(), 2U * kRuns);
}

TEST_F(Faults, AKilledWriterLosesAtMostTheRunItWasSaving) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = SqliteStore::open(path_, StoreAccess::kWrite);
    RunRecord record = small_run(0);
    record.timelines = {{"gpu:0", 0, Seconds(1), std::vector<float>(100'000, 1.F)}};
    for (;;) {
      if (!(*store)->save_run(record) || ::write(pipe_ends[1], "x", 1) != 1) ::_exit(1);
    }
  }
  ::close(pipe_ends[1]);
  // Killed after the fifth run, somewhere within a later one.
  std::size_t saved = 0;
  char byte = 0;
  while (saved < 5 && ::read(pipe_ends[0], &byte, 1) == 1) ++saved;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  while (::read(pipe_ends[0], &byte, 1) == 1) ++saved;
  ::close(pipe_ends[0]);
  auto store = writable();
  const auto runs = store->list_runs({});
  ASSERT_TRUE(runs);
  // One run may be committed whose word did not come through.
  EXPECT_GE(runs->size(), saved);
  EXPECT_LE(runs->size(), saved + 1);
  for (const RunRecord& run : *runs)
    EXPECT_EQ(store->samples(run.id, "gpu:0")->watts.size(), 100'000U);
}
}  // namespace
}  // namespace perjoule

#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace perjoule {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/perjoule-file-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(FileTest, ReplacingAFileKeepsWhoMayReadIt) {
  const std::string path = testing::TempDir() + "private-file-" + std::to_string(getpid());
  ASSERT_TRUE(write_file_atomically(path, "a"));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_TRUE(write_file_atomically(path, "b"));
  struct stat now {};
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777U, 0600U);
  EXPECT_EQ(*read_file(path), "b");
}

TEST_F(FileTest, AtomicWriteReplacesAndLeavesNothingBeside) {
  const std::string path = folder_ + "/a";
  ASSERT_TRUE(write_file_atomically(path, "one\n"));
  ASSERT_TRUE(write_file_atomically(path, "two\n"));
  EXPECT_EQ(*read_attribute(path), "two");
  EXPECT_EQ(list_folder(folder_), std::vector<std::string>{"a"});
}

TEST_F(FileTest, ALinkStaysALinkAndADeviceADevice) {
  const std::string target = folder_ + "/target";
  ASSERT_TRUE(write_file_atomically(target, "old"));
  std::filesystem::create_symlink(target, folder_ + "/link");
  ASSERT_TRUE(write_file_atomically(folder_ + "/link", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/link"));
  EXPECT_EQ(*read_attribute(target), "new");
  ASSERT_TRUE(write_file_atomically("/dev/null", "gone"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  if (path_exists("/dev/full")) {
    EXPECT_EQ(write_file_atomically("/dev/full", "x").error().code, ErrorCode::kDataLoss);
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  }
}

TEST_F(FileTest, WhyAFileCannotBeWrittenIsSaidInTheRightWords) {
  const auto why = [](const std::string& path) {
    const Outcome tried = check_writable(path);
    const Outcome written = write_file_atomically(path, "x");
    EXPECT_FALSE(tried || written) << path;
    if (tried || written) return std::string();
    EXPECT_EQ(tried.error().text(), written.error().text());
    return tried.error().text();
  };
  EXPECT_THAT(why(folder_ + "/none/x"),
              testing::HasSubstr("there is no folder " + folder_ + "/none/"));
  EXPECT_THAT(why(""), testing::StartsWith("the name of a file to write is empty"));
  if (is_folder("/proc/self")) {
    EXPECT_THAT(why("/proc/x"), testing::StartsWith("/proc/x: no file can be made in /proc/"));
  }
}

TEST_F(FileTest, WhatIsTooLargeOrEndlessIsRefused) {
  const std::string path = folder_ + "/large";
  ASSERT_TRUE(write_file_atomically(path, "12345"));
  EXPECT_EQ(*read_file(path, 5), "12345");
  EXPECT_EQ(read_file(path, 4).error().code, ErrorCode::kOutOfRange);
  // One that is nothing but a hole: refused by its size, before any of it is read.
  ASSERT_EQ(::truncate(path.c_str(), off_t{5} << 30), 0);
  const auto hole = read_file(path);
  ASSERT_FALSE(hole);
  EXPECT_EQ(hole.error().message, path + ": larger than 4 GiB");
  const auto endless = read_file("/dev/zero", 1 << 20);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::kOutOfRange);
  EXPECT_THAT(endless.error().message, testing::HasSubstr("/dev/zero: larger than"));
}

TEST_F(FileTest, ErrorsNameThePath) {
  const auto missing = read_file(folder_ + "/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, folder_ + "/none: No such file or directory");
  EXPECT_FALSE(write_file_atomically(folder_ + "/no/such/folder", ""));
}

TEST_F(FileTest, WhetherAFileCanBeWrittenIsToldWithoutTouchingIt) {
  const std::string path = folder_ + "/kept.txt";
  ASSERT_TRUE(write_file_atomically(path, "old"));
  EXPECT_TRUE(check_writable(path));
  EXPECT_TRUE(check_writable(folder_ + "/new.txt"));
  EXPECT_TRUE(check_writable("/dev/null"));
  EXPECT_EQ(*read_attribute(path), "old");
  EXPECT_EQ(list_folder(folder_), (std::vector<std::string>{"kept.txt"}));
  EXPECT_EQ(check_writable(folder_ + "/no/such.txt").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(check_writable(folder_).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(check_writable(path + "/below.txt").error().code, ErrorCode::kUnavailable);
}

TEST_F(FileTest, APipeNobodyReadsYetIsNotOpened) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(check_writable(path));  // and does not wait for a reader
}

TEST_F(FileTest, AFileIsNoFolder) {
  const std::string path = folder_ + "/file";
  ASSERT_TRUE(write_file_atomically(path, ""));
  EXPECT_FALSE(make_folders(path));
  EXPECT_FALSE(make_folders(path + "/below"));
}

TEST_F(FileTest, FullDiskIsDataLossAndKeepsTheOldFile) {
  if (!path_exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(write_attribute("/dev/full", "x").error().code, ErrorCode::kDataLoss);
}

TEST_F(FileTest, FoldersAreMadeAllTheWay) {
  ASSERT_TRUE(make_folders(folder_ + "/a/b/c"));
  EXPECT_TRUE(path_exists(folder_ + "/a/b/c"));
  ASSERT_TRUE(make_folders(folder_ + "/a/b/c"));
}
}  // namespace
}  // namespace perjoule

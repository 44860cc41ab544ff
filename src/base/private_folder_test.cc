#include "base/private_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/file.h"

namespace perjoule {
namespace {

TEST(PrivateFolder, IsOursAloneAndGoesWithItsOwner) {
  auto made = PrivateFolder::create("perjoule-test");
  ASSERT_TRUE(made) << made.error().text();
  std::optional<PrivateFolder> folder(std::move(*made));
  const std::filesystem::path path = folder->path();
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
  ASSERT_TRUE(write_file_atomically(path.string() + "/file", "text"));
  folder.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(PrivateFolder, CanBeKept) {
  auto folder = PrivateFolder::create("perjoule-test");
  ASSERT_TRUE(folder);
  const std::string path = folder->keep();
  { const PrivateFolder gone(std::move(*folder)); }
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove_all(path);
}

TEST(PrivateFolder, WithoutATemporaryFolderItSaysWhatToDo) {
  const std::string before = environment("TMPDIR");
  setenv("TMPDIR", "/nowhere/at/all", 1);
  const auto folder = PrivateFolder::create("perjoule-test");
  before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().text().find("TMPDIR"), std::string::npos);
}

}  // namespace
}  // namespace perjoule

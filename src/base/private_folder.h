// A folder of our own below the temporary one (TMPDIR), which nobody else may enter.
//
//   PJ_TRY(PrivateFolder folder, PrivateFolder::create("perjoule-twin"));
//   folder.path() + "/socket"
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace perjoule {

class PrivateFolder {
 public:
  /// Named after `what`, with letters behind it that make it new.
  static Result<PrivateFolder> create(std::string_view what);
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  /// Removes it with all that is in it, unless it is kept.
  ~PrivateFolder();

  const std::string& path() const { return path_; }
  /// Leaves it to the caller.
  std::string keep() { return std::exchange(path_, {}); }

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace perjoule

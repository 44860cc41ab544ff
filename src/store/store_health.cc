#include "store/store_health.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "store/sqlite_store.h"

namespace perjoule {

namespace {

constexpr const char* kElsewhere = "set PERJOULE_STATE to another folder";

bool may_write(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The folder itself or, where it is not there yet, the nearest one above it that is.
std::string nearest_existing(std::string folder) {
  while (folder.size() > 1 && !path_exists(folder)) folder = folder_of(folder);
  return folder;
}

}  // namespace

StoreHealth examine_store(const std::string& path) {
  StoreHealth health;
  const std::string folder = folder_of(path);
  const std::string there = nearest_existing(folder);
  if (!is_folder(there)) {
    health.text = there + ": not a folder, so that no run can be kept in " + folder;
    health.remedy = std::string(kElsewhere) + ", or move that file away";
    return health;
  }
  health.keeps = may_write(there);
  const auto runs = SqliteStore::check(path);
  if (!runs && runs.error().code != ErrorCode::kNotFound) {
    health.keeps = false;
    health.text = runs.error().message;
    health.remedy = runs.error().remedy;
    return health;
  }
  health.reads = true;
  if (runs && health.keeps) health.keeps = may_write(path);
  const std::string what =
      runs ? fmt::format("{} in {}", counted(static_cast<double>(*runs), "run"), path)
           : "no run in " + folder + " yet";
  health.text = health.keeps ? what : fmt::format("{}: cannot be written; {}", there, what);
  if (!health.keeps)
    health.remedy =
        fmt::format("make {} writable, or {}", runs ? path + " and its folder" : there, kElsewhere);
  return health;
}

}  // namespace perjoule

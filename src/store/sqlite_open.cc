#include "store/sqlite_open.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "store/sqlite_schema.h"

namespace perjoule {
namespace {

bool is_locked(const Outcome& outcome) {
  return !outcome && outcome.error().code == ErrorCode::kConflict;
}

/// Switches to WAL. While two processes make the same file, SQLite answers "locked" here without
/// waiting, so the waiting is done by hand.
Outcome switch_to_wal(const Database& database, Seconds patience) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  for (double waited = 0;; waited += 0.005) {
    Outcome switched = database.execute("PRAGMA journal_mode = WAL");
    if (!is_locked(switched) || waited >= patience.value()) return switched;
    std::this_thread::sleep_for(kPause);
  }
}

std::int64_t size_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

/// Opens for reading. SQLite wants to make side files beside a WAL store; where it may not and
/// nothing waits in the log, the file alone is the whole truth.
Result<Database> open_file(const std::string& path, const SqliteOptions& options) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT)
      return Error::not_found(path + ": no run is stored yet", "perjoule run saves one");
    return Error::from_errno(errno, path, "set PERJOULE_STATE to a folder that can be read");
  }
  Result<Database> database = Database::open(path, Database::Mode::kRead, options.busy_timeout);
  if (database) return database;
  // A full disk has no room for side files either, and looks like a damaged one from here.
  const ErrorCode code = database.error().code;
  if (code != ErrorCode::kUnavailable && code != ErrorCode::kPermissionDenied &&
      code != ErrorCode::kDataLoss)
    return database;
  if (size_of(path + "-wal") > 0) return database;
  Result<Database> file_alone =
      Database::open(path, Database::Mode::kImmutable, options.busy_timeout);
  return file_alone ? std::move(file_alone) : std::move(database);
}

}  // namespace

Result<Database> open_to_read(const std::string& path, const SqliteOptions& options) {
  PJ_TRY(Database database, open_file(path, options));
  PJ_CHECK(check_version(database));
  return database;
}

Result<Database> open_to_write(const std::string& path, const SqliteOptions& options) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) PJ_CHECK(make_folders(path.substr(0, slash)));
  PJ_TRY(Database database, Database::open(path, Database::Mode::kCreate, options.busy_timeout));
  // The version is asked before anything is changed: a newer store stays as it is.
  PJ_TRY(const std::int64_t version, database.integer("PRAGMA user_version"));
  if (version <= kStoreVersion) PJ_CHECK(switch_to_wal(database, options.busy_timeout));
  PJ_CHECK(bring_up_to_date(database));
  PJ_CHECK(database.execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL"));
  if (options.max_bytes > 0) {
    PJ_TRY(const std::int64_t page, database.integer("PRAGMA page_size"));
    PJ_CHECK(database.integer(fmt::format("PRAGMA max_page_count = {}", options.max_bytes / page)));
  }
  return database;
}

Outcome Transaction::begin() {
  PJ_CHECK(database_.execute("BEGIN IMMEDIATE"));
  open_ = true;
  return {};
}

Outcome Transaction::commit() {
  PJ_CHECK(database_.execute("COMMIT"));
  open_ = false;
  return {};
}

}  // namespace perjoule

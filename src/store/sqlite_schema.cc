#include "store/sqlite_schema.h"

#include <fmt/format.h>

#include <array>

namespace perjoule {

namespace {

/// "pjl1", so that a file can be told from other programs' databases.
constexpr std::int64_t kApplicationId = 0x706a6c31;

// Step i leads from version i to i + 1. A step that was released is never changed.
constexpr std::array<const char*, kStoreVersion> kSteps{
    R"(
CREATE TABLE run (
  id TEXT PRIMARY KEY NOT NULL,
  started_unix_ns INTEGER NOT NULL,
  duration_s REAL NOT NULL,
  host TEXT NOT NULL,
  command TEXT NOT NULL,
  project TEXT NOT NULL,
  unit TEXT NOT NULL,
  document TEXT NOT NULL
) STRICT;
CREATE INDEX run_by_start ON run(started_unix_ns);
CREATE TABLE tag (
  run_id TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE timeline (
  key INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  source TEXT NOT NULL,
  t0_unix_ns INTEGER NOT NULL,
  dt_s REAL NOT NULL,
  UNIQUE (run_id, source)
) STRICT;
CREATE TABLE chunk (
  key INTEGER PRIMARY KEY,
  timeline INTEGER NOT NULL REFERENCES timeline(key) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  watts BLOB NOT NULL,
  UNIQUE (timeline, number)
) STRICT;
)",
    R"(
CREATE TABLE entry (
  log TEXT NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (log, number)
) STRICT, WITHOUT ROWID;
)"};

Outcome refuse_newer(const Database& database, std::int64_t version) {
  if (version <= kStoreVersion) return {};
  return Error::not_supported(
      fmt::format("{}: the store is of version {}, this perjoule knows up to {}", database.path(),
                  version, kStoreVersion),
      "use the newer perjoule that wrote it, or set PERJOULE_STATE to another folder");
}

Outcome refuse_foreign(const Database& database) {
  PJ_TRY(const std::int64_t application, database.integer("PRAGMA application_id"));
  if (application == kApplicationId) return {};
  PJ_TRY(const std::int64_t tables, database.integer("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && tables == 0) return {};
  return Error::data_loss(database.path() + ": another program's database, not a store",
                          "move it away, or set PERJOULE_STATE to another folder");
}

/// One step inside its transaction; someone else may have done it while we waited for the lock.
Outcome do_step(const Database& database, std::int64_t from) {
  PJ_TRY(const std::int64_t now, database.integer("PRAGMA user_version"));
  if (now != from) return {};
  PJ_CHECK(database.execute(kSteps[static_cast<std::size_t>(from)]));
  return database.execute(
      fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {};", from + 1, kApplicationId)
          .c_str());
}

}  // namespace

Outcome bring_up_to_date(const Database& database) {
  PJ_CHECK(refuse_foreign(database));
  for (;;) {
    PJ_TRY(const std::int64_t version, database.integer("PRAGMA user_version"));
    PJ_CHECK(refuse_newer(database, version));
    if (version == kStoreVersion) return {};
    PJ_CHECK(database.execute("BEGIN IMMEDIATE"));
    Outcome done = do_step(database, version);
    if (!done) {
      (void)database.execute("ROLLBACK");
      return done;
    }
    PJ_CHECK(database.execute("COMMIT"));
  }
}

Outcome check_version(const Database& database) {
  PJ_CHECK(refuse_foreign(database));
  PJ_TRY(const std::int64_t version, database.integer("PRAGMA user_version"));
  if (version == 0) return Error::not_found(database.path() + ": no run is stored yet");
  return refuse_newer(database, version);
}

}  // namespace perjoule

// Runs in one SQLite file: the default store, for one user or a few processes on one machine.
//
// The file is in WAL mode, so readers never wait for the writer; a run is one transaction with a
// full sync, so a crash loses at most the run that was being saved. Writers wait for one another up
// to `busy_timeout`. Samples lie in blobs of 65,536 float32 watts, little-endian.
//
// The version of the schema is SQLite's user_version. An older file is brought up step by step when
// it is opened for writing; a newer one is refused with both versions named.
#pragma once

#include <memory>
#include <string>

#include "store/sqlite_open.h"
#include "store/store.h"

namespace perjoule {

enum class StoreAccess { kWrite, kRead };

class SqliteStore final : public Store {
 public:
  /// Opens the store; for writing, makes it and its folder where they are missing. For reading, a
  /// file or folder that cannot be written is fine. Fails with not_found (reading, no such file),
  /// not_supported (newer version), data_loss (damaged, or no store at all), permission_denied,
  /// conflict (locked).
  static Result<std::unique_ptr<Store>> open(const std::string& path, StoreAccess access,
                                             const SqliteOptions& options = {});

  /// Reads every page of the file and says how many runs it holds; not_found when there is none
  /// yet, else fails as open() for reading does, with data_loss wherever the damage lies.
  static Result<std::int64_t> check(const std::string& path, const SqliteOptions& options = {});

  Result<std::string> save_run(const RunRecord& run) override;
  Result<std::vector<RunRecord>> list_runs(const RunFilter& filter) const override;
  Result<RunRecord> load_run(std::string_view id) const override;
  Outcome delete_run(std::string_view id) override;
  Result<StoredTimeline> samples(std::string_view id, std::string_view source) const override;
  Result<std::string> find_run(std::string_view word) const override;

 private:
  explicit SqliteStore(Database database) : database_(std::move(database)) {}
  Outcome insert(const RunRecord& run, const std::string& id);
  Outcome insert_timelines(const RunRecord& run, const std::string& id);
  Result<std::vector<std::string>> tags_of(std::string_view id) const;
  Database database_;
};

}  // namespace perjoule

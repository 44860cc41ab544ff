// Logs in the SQLite file of the store.
#pragma once

#include <memory>

#include "store/event_log.h"
#include "store/sqlite_open.h"

namespace perjoule {

class SqliteEventLog final : public EventLog {
 public:
  /// Opens the store's file for writing, making it where it is missing; fails as SqliteStore::open
  /// does.
  static Result<std::unique_ptr<EventLog>> open(const std::string& path,
                                                const SqliteOptions& options = {});

  Outcome update(std::string_view log, const Change& change) override;
  Result<Entries> read(std::string_view log) const override;
  Result<std::vector<std::string>> names(std::string_view beginning) const override;
  Outcome erase(std::string_view log) override;

 private:
  explicit SqliteEventLog(Database database) : database_(std::move(database)) {}
  Database database_;
};

}  // namespace perjoule

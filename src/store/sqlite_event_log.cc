#include "store/sqlite_event_log.h"

#include <fmt/format.h>

namespace perjoule {

Result<std::unique_ptr<EventLog>> SqliteEventLog::open(const std::string& path,
                                                       const SqliteOptions& options) {
  PJ_TRY(Database database, open_to_write(path, options));
  return std::unique_ptr<EventLog>(new SqliteEventLog(std::move(database)));
}

Outcome SqliteEventLog::update(std::string_view log, const Change& change) {
  Transaction transaction(database_);
  PJ_CHECK(transaction.begin());
  PJ_TRY(const Entries so_far, read(log));
  PJ_TRY(const Entries more, change(so_far));
  PJ_TRY(Statement insert,
         database_.prepare("INSERT INTO entry(log, number, body) VALUES (?, ?, ?)"));
  auto number = static_cast<std::int64_t>(so_far.size());
  for (const Json& entry : more) {
    const std::string body = entry.dump();
    insert.bind(1, log);
    insert.bind(2, number++);
    insert.bind(3, std::string_view(body));
    PJ_CHECK(insert.step());
    insert.reset();
  }
  return transaction.commit();
}

Result<EventLog::Entries> SqliteEventLog::read(std::string_view log) const {
  PJ_TRY(Statement select,
         database_.prepare("SELECT body FROM entry WHERE log = ? ORDER BY number"));
  select.bind(1, log);
  Entries entries;
  for (;;) {
    PJ_TRY(const bool row, select.step());
    if (!row) return entries;
    Result<Json> entry = parse_json(select.text(0));
    if (!entry) return fail(entry, fmt::format("{}, entry {}", log, entries.size()));
    entries.push_back(std::move(*entry));
  }
}

Result<std::vector<std::string>> SqliteEventLog::names(std::string_view beginning) const {
  PJ_TRY(Statement select, database_.prepare("SELECT DISTINCT log FROM entry WHERE "
                                             "substr(log, 1, length(?1)) = ?1 ORDER BY log"));
  select.bind(1, beginning);
  std::vector<std::string> names;
  for (;;) {
    PJ_TRY(const bool row, select.step());
    if (!row) return names;
    names.push_back(select.text(0));
  }
}

Outcome SqliteEventLog::erase(std::string_view log) {
  PJ_TRY(Statement statement, database_.prepare("DELETE FROM entry WHERE log = ?"));
  statement.bind(1, log);
  PJ_CHECK(statement.step());
  return {};
}

}  // namespace perjoule

#include "store/sqlite_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace perjoule {

namespace {

/// An SQLite result code as ours, in words that say what to do.
tl::unexpected<Error> error_of(int code, const char* detail, const std::string& path) {
  const std::string why =
      fmt::format("{}: {}", path, detail != nullptr ? detail : sqlite3_errstr(code));
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error::conflict(path + ": another process holds the store",
                             "try again when it has finished");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Error::permission_denied(
          path + ": the store may not be written",
          "make the file and its folder writable, or set PERJOULE_STATE "
          "to a folder that is");
    case SQLITE_FULL:
      return Error::data_loss(path + ": no space left for the store; nothing of it was saved",
                              "free some space and save again");
    case SQLITE_CORRUPT:
      return Error::data_loss(
          path + ": the store is damaged",
          fmt::format("move it away; sqlite3 {} .recover saves what can be read", path));
    case SQLITE_NOTADB:
      return Error::data_loss(path + ": not a store (nor any SQLite file)",
                              "move it away, or set PERJOULE_STATE to another folder");
    case SQLITE_CANTOPEN:
      return Error::unavailable(path + ": the store cannot be opened",
                                "check that its folder exists and may be written");
    case SQLITE_CONSTRAINT:
      return Error::conflict(why);
    case SQLITE_IOERR:
      return Error::data_loss(why, "check the disk and the space left on it");
    case SQLITE_TOOBIG:
      return Error::out_of_range(why);
    default:
      return Error::internal(why);
  }
}

/// A path in SQLite's URI form; what would end it is escaped.
std::string uri_of(const std::string& path, std::string_view query) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      uri += c;
    }
  }
  return uri + std::string(query);
}

}  // namespace

void Statement::Finalise::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

void Statement::bind(int parameter, std::string_view text) {
  // A null pointer would bind NULL, and an empty view may have one.
  sqlite3_bind_text64(statement_.get(), parameter, text.data() != nullptr ? text.data() : "",
                      text.size(), SQLITE_STATIC, SQLITE_UTF8);
}
void Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
}
void Statement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter, value);
}
void Statement::bind_blob(int parameter, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), parameter, bytes.data() != nullptr ? bytes.data() : "",
                      bytes.size(), SQLITE_STATIC);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* handle = sqlite3_db_handle(statement_.get());
  return error_of(sqlite3_extended_errcode(handle), sqlite3_errmsg(handle), *path_);
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(statement_.get(), column);
  if (bytes == nullptr) return {};
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}
std::string_view Statement::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}
std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

Result<Database> Database::open(const std::string& path, Mode mode, Seconds busy_timeout) {
  Database database;
  database.path_ = std::make_unique<std::string>(path);
  int flags = SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE;
  flags |=
      mode == Mode::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const std::string uri = uri_of(path, mode == Mode::kImmutable ? "?immutable=1" : "");
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  database.handle_.reset(handle);  // there is one even where opening failed
  if (code != SQLITE_OK)
    return error_of(code, handle != nullptr ? sqlite3_errmsg(handle) : nullptr, path);
  sqlite3_busy_timeout(handle, static_cast<int>(busy_timeout.value() * 1e3));
  // Opening reads nothing; the first query does.
  PJ_CHECK(database.integer("PRAGMA schema_version"));
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return error_of(code, sqlite3_errmsg(handle_.get()), *path_);
  return Statement(statement, path_.get());
}

Outcome Database::execute(const char* sql) const {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error_of(code, sqlite3_errmsg(handle_.get()), *path_);
  return {};
}

Result<std::int64_t> Database::integer(std::string_view sql) const {
  PJ_TRY(Statement query, prepare(sql));
  PJ_TRY(const bool row, query.step());
  return row ? query.integer(0) : 0;
}

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }

}  // namespace perjoule

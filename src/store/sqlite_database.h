// The part of SQLite that the store uses, with Results for return codes and destructors for close.
//
//   PJ_TRY(Statement insert, database.prepare("INSERT INTO run(id, host) VALUES (?, ?)"));
//   insert.bind(1, id);
//   insert.bind(2, host);
//   PJ_TRY(bool row, insert.step());         // false: done
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

struct sqlite3;
struct sqlite3_stmt;

namespace perjoule {

/// One prepared statement. Must not outlive its database; bound text must live until the last step.
class Statement {
 public:
  void bind(int parameter, std::string_view text);
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  void bind_blob(int parameter, std::string_view bytes);
  /// Runs to the next row: true when there is one. The statement can be bound and run again after
  /// reset().
  Result<bool> step();
  void reset();

  std::string text(int column) const;
  std::string_view blob(int column) const;  ///< until the next step
  std::int64_t integer(int column) const;
  double real(int column) const;

 private:
  friend class Database;
  struct Finalise {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, const std::string* path)
      : statement_(statement), path_(path) {}
  std::unique_ptr<sqlite3_stmt, Finalise> statement_;
  const std::string* path_;
};

class Database {
 public:
  enum class Mode {
    kCreate,     ///< read and write, made when missing
    kRead,       ///< read, never write
    kImmutable,  ///< read without locks or side files: a folder that cannot be written
  };
  /// Opens and touches the file, so that a file that is no database is found here.
  static Result<Database> open(const std::string& path, Mode mode, Seconds busy_timeout);

  Result<Statement> prepare(std::string_view sql) const;
  /// Runs statements that answer nothing.
  Outcome execute(const char* sql) const;
  /// The single integer a query answers.
  Result<std::int64_t> integer(std::string_view sql) const;
  std::int64_t last_row() const;
  const std::string& path() const { return *path_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Database() = default;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<std::string> path_;  ///< on the heap: statements point to it
};

}  // namespace perjoule

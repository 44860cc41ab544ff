// The store's file opened: its folder made, its version checked and brought up, and a transaction
// on it. For what lies in it: sqlite_store.h (runs), sqlite_event_log.h (logs).
#pragma once

#include <string>

#include "store/sqlite_database.h"

namespace perjoule {

struct SqliteOptions {
  Seconds busy_timeout{5};
  std::int64_t max_bytes = 0;  ///< the file is never let grow beyond; 0: no bound
};

/// For reading; a file or folder that cannot be written is fine. Fails with not_found (no such
/// file), not_supported (newer version), data_loss (damaged, or no store at all),
/// permission_denied, conflict (locked).
Result<Database> open_to_read(const std::string& path, const SqliteOptions& options);
/// For writing; makes the file and its folder where they are missing, and brings an older version
/// up.
Result<Database> open_to_write(const std::string& path, const SqliteOptions& options);

/// Rolls back unless the work was committed.
class Transaction {
 public:
  explicit Transaction(const Database& database) : database_(database) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    // Nothing more can be done about a rollback that fails: closing the file does the same.
    if (open_) (void)database_.execute("ROLLBACK");
  }
  Outcome begin();
  Outcome commit();

 private:
  const Database& database_;
  bool open_ = false;
};

}  // namespace perjoule

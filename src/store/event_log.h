// Append-only logs in the store, each the whole history of one thing (a recurring job), so that its
// state is what replaying the log gives and a crash between two entries loses nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace perjoule {

class EventLog {
 public:
  virtual ~EventLog() = default;

  using Entries = std::vector<Json>;
  /// What to append, from all entries so far. It may be called in any thread and must not touch the
  /// log itself.
  using Change = std::function<Result<Entries>(const Entries& so_far)>;

  /// Appends what `change` answers, as one step: no other process appends in between. An error of
  /// `change` appends nothing and is passed on. Else fails as Store::save_run does.
  virtual Outcome update(std::string_view log, const Change& change) = 0;
  /// All entries, oldest first; empty for a log there is not.
  virtual Result<Entries> read(std::string_view log) const = 0;
  /// The names that begin so, in order.
  virtual Result<std::vector<std::string>> names(std::string_view beginning) const = 0;
  /// Forgets a log.
  virtual Outcome erase(std::string_view log) = 0;
};

}  // namespace perjoule

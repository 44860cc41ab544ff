// Where runs are kept after they end: what was run, what it used (the run document), and the
// sampled power.
//
//   PJ_TRY(auto store, SqliteStore::open(default_store_path(), StoreAccess::kWrite));
//   PJ_TRY(const std::string id, store->save_run(record));
//   PJ_TRY(const RunRecord run, store->load_run(id));
//
// A store keeps the document as it is and reads nothing in it: the schema of a run belongs to the
// meter. One object serves one thread; several processes may have the same store open and write to
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// Sampled power of one source on an even grid: sample i is the power at t0 + i dt.
struct StoredTimeline {
  std::string source;  ///< id of the source, unique within a run
  std::int64_t t0_unix_ns = 0;
  Seconds dt;
  std::vector<float> watts;  ///< not a number where the source gave none
};

struct RunRecord {
  std::string id;  ///< empty before it is saved
  std::int64_t started_unix_ns = 0;
  Seconds duration;
  std::string host;
  std::string command;
  std::string project;
  std::vector<std::string> tags;
  std::string unit;  ///< of work: "step", "token"; may be empty
  Json document;     ///< perjoule.run.v1
  std::vector<StoredTimeline> timelines;
};

struct RunFilter {
  std::string project = {};  ///< empty: any
  std::string tag = {};      ///< empty: any
  std::size_t last = 0;      ///< only so many of the newest; 0: all
};

class Store {
 public:
  virtual ~Store() = default;

  /// Saves the run as a whole or not at all and answers its id, made here when the record has none.
  /// Fails with conflict when the id exists or another process holds the store for too long, with
  /// data_loss when the disk is full, with permission_denied when it may not be written.
  virtual Result<std::string> save_run(const RunRecord& run) = 0;
  /// Newest first, without their timelines.
  virtual Result<std::vector<RunRecord>> list_runs(const RunFilter& filter) const = 0;
  /// The whole run; not_found when there is none of that id.
  virtual Result<RunRecord> load_run(std::string_view id) const = 0;
  virtual Outcome delete_run(std::string_view id) = 0;
  /// One source's samples.
  virtual Result<StoredTimeline> samples(std::string_view id, std::string_view source) const = 0;
  /// The id a user's word stands for: an id, the beginning of just one, "last", or "last~2" for the
  /// second before it. Fails with not_found, or invalid_argument when several begin so.
  virtual Result<std::string> find_run(std::string_view word) const = 0;
};

/// A short id that sorts by time: 8 characters of milliseconds since 2020 and 3 of chance, in base
/// 32 without look-alikes (i, l, o, u). Lasts until 2054.
std::string make_run_id(std::int64_t unix_ns, std::uint32_t random);

/// state_folder()/runs.db.
std::string default_store_path();

}  // namespace perjoule

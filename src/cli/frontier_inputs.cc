#include "cli/frontier_inputs.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/file.h"
#include "meter/run_point.h"
#include "store/sqlite_store.h"

namespace perjoule::cli {
namespace {

class Inputs {
 public:
  Outcome add(const std::string& word) {
    if (word == "-") {
      inputs_.push_back({word, std::nullopt});
      return {};
    }
    return path_exists(word) ? add_file(word) : add_stored(word);
  }

  Result<PointsTable> join(const PointsOptions& options) && {
    PJ_TRY(PointsTable table, join_points(std::move(inputs_), options));
    table.notes.insert(table.notes.begin(), notes_.begin(), notes_.end());
    return table;
  }

 private:
  Outcome add_file(const std::string& path) {
    // What can be read only once, such as a pipe, is left to who reads it whole.
    std::string beginning;
    if (is_plain_file(path)) {
      PJ_TRY(beginning, read_beginning(path, 512));
    }
    if (!is_run_file(beginning)) {
      inputs_.push_back({path, std::nullopt});
      return {};
    }
    PJ_TRY(const std::string text, read_file(path));
    PJ_TRY(std::vector<RunPoint> runs, points_of_run_file(text, path));
    for (RunPoint& run : runs) add_run(std::move(run));
    return {};
  }

  Outcome add_stored(const std::string& word) {
    const Result<Store*> store = open_store();
    if (!store) {
      if (store.error().code == ErrorCode::kNotFound) {
        return Error::not_found(
            fmt::format("'{}': no such file, and no such run: {}", word, store.error().message),
            store.error().remedy);
      }
      return fail(store, fmt::format("'{}': no such file, and the runs cannot be looked up", word));
    }
    const auto id = (*store)->find_run(word);
    if (!id) return fail(id, fmt::format("'{}': no such file, and as a run", word));
    PJ_TRY(const RunRecord record, (*store)->load_run(*id));
    PJ_TRY(RunPoint run, point_of_run(record.document, *id));
    add_run(std::move(run));
    return {};
  }

  void add_run(RunPoint run) {
    const std::string name = "run " + std::string(run.point.config.find("run").value_or("?"));
    notes_.insert(notes_.end(), run.notes.begin(), run.notes.end());
    inputs_.push_back({name, PointsFile{run.unit, {std::move(run.point)}}});
  }

  Result<Store*> open_store() {
    if (!store_) {
      PJ_TRY(store_, SqliteStore::open(default_store_path(), StoreAccess::kRead));
    }
    return store_.get();
  }

  std::vector<PointsInput> inputs_;
  std::vector<std::string> notes_;
  std::unique_ptr<Store> store_;
};

}  // namespace

Result<PointsTable> load_points(const std::vector<std::string>& words,
                                const PointsOptions& options) {
  Inputs inputs;
  for (const std::string& word : words) PJ_CHECK(inputs.add(word));
  return std::move(inputs).join(options);
}

}  // namespace perjoule::cli

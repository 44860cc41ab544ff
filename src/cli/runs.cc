// perjoule runs list|show|delete|export: what was measured before.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "cli/runs_merge.h"
#include "cli/runs_view.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "store/run_json.h"
#include "store/sqlite_store.h"

namespace perjoule::cli {

namespace {

Result<std::unique_ptr<Store>> open_store(StoreAccess access) {
  return SqliteStore::open(default_store_path(), access);
}

Result<int> list(const Arguments& arguments) {
  RunFilter filter{arguments.value("project"), arguments.value("tag"), 0};
  const auto last = parse_integer(arguments.value("last"));
  if (!last || *last < 0) {
    return Error::invalid_argument(
        fmt::format("--last: not a number of runs: '{}'", arguments.value("last")), "0 shows all");
  }
  filter.last = static_cast<std::size_t>(*last);
  std::vector<RunRecord> runs;
  Result<std::unique_ptr<Store>> store = open_store(StoreAccess::kRead);
  // Nothing stored yet is an empty list, not a failure.
  if (!store && store.error().code != ErrorCode::kNotFound) return fail(store);
  if (store) {
    PJ_TRY(runs, (*store)->list_runs(filter));
  }
  if (arguments.json()) {
    print(runs_document(runs, false).dump(2) + "\n");
  } else if (runs.empty()) {
    complain("no run is stored that matches; perjoule run saves one");
  } else {
    print(runs_table(runs));
  }
  return kDone;
}

/// The runs the words stand for, each once, in the order given.
Result<std::vector<RunRecord>> load(const Store& store, const std::vector<std::string>& words) {
  std::vector<RunRecord> runs;
  for (const std::string& word : words) {
    PJ_TRY(const std::string id, store.find_run(word));
    PJ_TRY(RunRecord run, store.load_run(id));
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<int> show(const Arguments& arguments) {
  PJ_TRY(const auto store, open_store(StoreAccess::kRead));
  PJ_TRY(const std::vector<RunRecord> runs, load(*store, arguments.values("ID")));
  if (arguments.json()) {
    print(runs_document(runs, false).dump(2) + "\n");
  } else {
    for (const RunRecord& run : runs) print((&run == runs.data() ? "" : "\n") + run_text(run));
  }
  return kDone;
}

Result<int> erase(const Arguments& arguments) {
  PJ_TRY(const auto store, open_store(StoreAccess::kWrite));
  // All words are looked up before anything goes: "last last~1" means what it did when typed, and a
  // mistyped id deletes nothing.
  std::vector<std::string> ids;
  for (const std::string& word : arguments.values("ID")) {
    PJ_TRY(std::string id, store->find_run(word));
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
  }
  Json deleted = Json::array();
  for (const std::string& id : ids) {
    PJ_CHECK(store->delete_run(id));
    deleted.push_back(id);
    if (!arguments.json()) print("deleted " + id + "\n");
  }
  if (arguments.json()) {
    Json document = Json::object();
    document["schema"] = "perjoule.runs.v1";
    document["deleted"] = std::move(deleted);
    print(document.dump(2) + "\n");
  }
  return kDone;
}

Result<int> export_runs(const Arguments& arguments) {
  const std::string format = arguments.json() ? "json" : arguments.value("format");
  if (format != "json" && format != "csv")
    return Error::invalid_argument(fmt::format("--format: not json or csv: '{}'", format));
  const std::string path = arguments.value("o");
  const bool to_file = !path.empty() && path != "-";
  if (to_file) PJ_CHECK(check_writable(path));
  PJ_TRY(const auto store, open_store(StoreAccess::kRead));
  PJ_TRY(const std::vector<RunRecord> runs, load(*store, arguments.values("ID")));
  const std::string text =
      format == "csv" ? samples_csv(runs) : runs_document(runs, true).dump(2) + "\n";
  if (to_file) {
    PJ_CHECK(write_file_atomically(path, text));
  } else {
    print(text);
  }
  return kDone;
}

const Positional kIds{"ID", "id, the beginning of one, last, or last~1 for the one before it", true,
                      true};

Verb list_verb() {
  Verb verb;
  verb.name = "runs list";
  verb.summary = "list stored runs, newest first";
  verb.options = {{"project", "NAME", "only runs of this project"},
                  {"tag", "TAG", "only runs with this tag"},
                  {"last", "N", "only the newest N; 0 shows all", "20"}};
  verb.examples = {"perjoule runs list --project chat --tag final --last 5"};
  verb.run = list;
  return verb;
}

Verb show_verb() {
  Verb verb;
  verb.name = "runs show";
  verb.summary = "show what a run used, by source";
  verb.positionals = {kIds};
  verb.examples = {"perjoule runs show last"};
  verb.run = show;
  return verb;
}

Verb delete_verb() {
  Verb verb;
  verb.name = "runs delete";
  verb.summary = "delete runs and their samples";
  verb.positionals = {kIds};
  verb.examples = {"perjoule runs delete last~1 0hq3m"};
  verb.run = erase;
  return verb;
}

Verb export_verb() {
  Verb verb;
  verb.name = "runs export";
  verb.summary = "write runs with their samples to a file";
  verb.description =
      "json holds everything (perjoule.runs.v1); csv holds the samples: run,source,unix_s,watts.";
  verb.options = {{"format", "FORMAT", "json or csv", "json"},
                  {"o", "FILE", "file to write; standard output otherwise"}};
  verb.positionals = {kIds};
  verb.examples = {"perjoule runs export last --format csv -o power.csv"};
  verb.run = export_runs;
  return verb;
}

}  // namespace

std::vector<Verb> runs_verbs() {
  return {list_verb(), show_verb(), delete_verb(), export_verb(), runs_merge_verb()};
}

}  // namespace perjoule::cli

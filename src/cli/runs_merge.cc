// perjoule runs merge: the ranks of a job as one figure.
#include "cli/runs_merge.h"
#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/table.h"
#include "meter/compare.h"
#include "meter/ranks.h"
#include "store/sqlite_store.h"

namespace perjoule::cli {
namespace {

/// The documents of a file: one run, or what `runs export` wrote.
Outcome add_file(const std::string& path, std::vector<Json>& documents) {
  PJ_TRY(const std::string text, read_file(path));
  const auto json = parse_json(text);
  if (!json) return fail(json, path);
  PJ_CHECK(check_run_schema(*json, path));
  const Json* runs = json->find("runs");
  if (runs == nullptr || runs->as_array() == nullptr) {
    documents.push_back(*json);
    return {};
  }
  for (const Json& run : *runs->as_array()) {
    const Json* document = run.find("document");
    documents.push_back(document != nullptr ? *document : run);
  }
  return {};
}

Outcome add_stored(const std::string& job, const std::vector<std::string>& words,
                   std::vector<Json>& documents) {
  PJ_TRY(const auto store, SqliteStore::open(default_store_path(), StoreAccess::kRead));
  for (const std::string& word : words) {
    PJ_TRY(const std::string id, store->find_run(word));
    PJ_TRY(RunRecord record, store->load_run(id));
    documents.push_back(std::move(record.document));
  }
  if (job.empty()) return {};
  PJ_TRY(std::vector<RunRecord> all, store->list_runs({}));
  for (RunRecord& record : all) {
    const Json* rank = record.document.find("rank");
    if (rank != nullptr && rank->string("job") == job)
      documents.push_back(std::move(record.document));
  }
  return {};
}

std::string merged_text(const Json& merged) {
  Table table({{"HOST"},
               {"SOURCE"},
               {"ENERGY", Table::Align::kRight},
               {"STATUS"},
               {"RANKS", Table::Align::kRight}});
  for (const Json& source : *merged.find("sources")->as_array()) {
    const auto energy = energy_from_json(*source.find("energy"));
    if (!energy) continue;
    table.add({source.string("host").value_or(""), source.string("id").value_or(""),
               with_uncertainty(*energy), energy->status_text(),
               std::to_string(source.integer("ranks").value_or(0))});
  }
  const auto total = energy_from_json(*merged.find("total"));
  if (total) {
    table.add({"total", "", with_uncertainty(*total), total->status_text(),
               std::to_string(merged.integer("parts").value_or(0))});
  }
  return table.text() + "\ntime " + to_text(Seconds(merged.number("duration_s").value_or(0)), 4) +
         "\n";
}

Result<int> merge(const Arguments& arguments) {
  std::vector<Json> documents;
  std::vector<std::string> words;
  for (const std::string& word : arguments.values("RUN")) {
    if (path_exists(word)) {
      PJ_CHECK(add_file(word, documents));
    } else {
      words.push_back(word);
    }
  }
  const std::string job = arguments.value("job");
  if (!words.empty() || !job.empty()) PJ_CHECK(add_stored(job, words, documents));
  if (documents.empty()) {
    return Error::not_found(job.empty() ? "no run to merge" : "no stored run belongs to job " + job,
                            "name runs or files, or --job with the launcher's job id");
  }
  PJ_TRY(const Json merged, merge_runs(documents));
  print(arguments.json() ? merged.dump(2) + "\n" : merged_text(merged));
  return kDone;
}

}  // namespace

Verb runs_merge_verb() {
  Verb verb;
  verb.name = "runs merge";
  verb.summary = "put the ranks of a parallel job together, each device counted once";
  verb.description =
      "Every rank measures by itself (srun perjoule run -- ...). Merging counts each source of "
      "each host over the union "
      "of the ranks' spans, so that what several ranks saw is counted once.";
  verb.options = {{"job", "ID", "all stored runs of this job of Slurm, MPI or torchrun"}};
  verb.positionals = {{"RUN", "run id or JSON file", false, true}};
  verb.examples = {"perjoule runs merge --job 4711", "perjoule runs merge rank-*.json --json"};
  verb.run = merge;
  return verb;
}

}  // namespace perjoule::cli

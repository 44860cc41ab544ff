// perjoule compare: do two runs differ, and by what kind of saving?
#include <fmt/format.h>

#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "meter/compare.h"
#include "store/sqlite_store.h"

namespace perjoule::cli {
namespace {

/// A word is a JSON file when there is one of that name, else a stored run.
Result<ComparedRun> load(const std::string& word) {
  if (path_exists(word)) {
    PJ_TRY(const std::string text, read_file(word));
    const auto document = parse_json(text);
    if (!document) return fail(document, word);
    return compared_run(*document, word);
  }
  PJ_TRY(const auto store, SqliteStore::open(default_store_path(), StoreAccess::kRead));
  PJ_TRY(const std::string id, store->find_run(word));
  PJ_TRY(const RunRecord record, store->load_run(id));
  return compared_run(record.document, id);
}

std::string_view verdict_name(Difference verdict) {
  constexpr std::string_view kNames[] = {"same", "less", "more", "unknown"};
  return kNames[static_cast<int>(verdict)];
}

Json document_of(const ComparedRun& a, const ComparedRun& b, const Comparison& c) {
  Json json = Json::object();
  json["schema"] = "perjoule.compare.v1";
  json["first"] = a.name;
  json["second"] = b.name;
  json["per_unit"] = c.per_unit ? Json(a.unit) : Json();
  json["change"] = to_json(c.change);
  json["relative"] = c.relative;
  json["relative_half_width"] = c.relative_half_width;
  json["time_ratio"] = c.time_ratio;
  json["verdict"] = verdict_name(c.verdict);
  if (c.verdict == Difference::kUnknown) json["reason"] = c.reason;
  json["notes"] = Json::array();
  for (const std::string& note : c.notes) json["notes"].push_back(note);
  json["kind"] = c.kind;
  json["static_change"] = c.static_change ? to_json(*c.static_change) : Json();
  json["dynamic_change"] = c.dynamic_change ? to_json(*c.dynamic_change) : Json();
  return json;
}

std::string text_of(const ComparedRun& a, const ComparedRun& b, const Comparison& c) {
  Table table({{""},
               {"TIME", Table::Align::kRight},
               {"ENERGY", Table::Align::kRight},
               {"STATUS"},
               {"GRADE"},
               {"BOUNDARY"}});
  for (const auto& [run, energy] : {std::pair(&a, &c.first), std::pair(&b, &c.second)}) {
    const double scale = c.per_unit ? 1 / run->units : 1;
    table.add({run->name, to_text(run->time * scale, 4), with_uncertainty(*energy),
               energy->status_text(), std::string(name_of(energy->grade())),
               std::string(name_of(energy->boundary))});
  }
  std::string text = table.text() + "\n";
  if (c.per_unit) text += "figures are per " + a.unit + "\n";
  // A bound has no percentage of its own.
  const std::string share =
      c.change.one_sided()
          ? std::string()
          : fmt::format(" ({:+.1f} % +- {:.1f} %)", 100 * c.relative, 100 * c.relative_half_width);
  const std::string change =
      fmt::format("{}{}, time x {:.3f}", with_uncertainty(c.change), share, c.time_ratio);
  switch (c.verdict) {
    case Difference::kNone:
      text += "no difference: " + change + "\n";
      break;
    case Difference::kLess:
      text += b.name + " takes less: " + change + "\n";
      break;
    case Difference::kMore:
      text += b.name + " takes more: " + change + "\n";
      break;
    case Difference::kUnknown:
      text += "cannot tell: " + c.reason + "\n";
      break;
  }
  if (c.static_change) {
    text += fmt::format("static {}, dynamic {}", with_uncertainty(*c.static_change),
                        with_uncertainty(*c.dynamic_change));
    text += c.kind.empty() ? "\n" : ": " + c.kind + "\n";
  }
  for (const std::string& note : c.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace

Verb compare_verb() {
  Verb verb;
  verb.name = "compare";
  verb.summary = "tell whether two runs differ, and why";
  verb.description =
      "Takes two stored runs or run documents. Errors that both share (one sensor's gain) cancel, "
      "so a difference far "
      "below either uncertainty shows. Of runs that did not measure the same sources those that "
      "both measured are compared, with a note. Runs that counted the same unit are compared per "
      "unit. With "
      "an idle baseline "
      "(run --baseline) the difference is split into waiting and work. Exit status 0: no "
      "difference, 1: they differ, 3: it cannot be told, since an energy is missing or only a "
      "lower bound, no source was measured in both, or their boundaries differ.";
  verb.positionals = {{"A", "run id, unique beginning, last, last~1, or JSON file"},
                      {"B", "the run to hold against it"}};
  verb.examples = {"perjoule compare last~1 last",
                   "perjoule compare before.json after.json --json"};
  verb.run = [](const Arguments& arguments) -> Result<int> {
    PJ_TRY(const ComparedRun a, load(arguments.values("A").front()));
    PJ_TRY(const ComparedRun b, load(arguments.values("B").front()));
    const Comparison result = compare(a, b);
    print(arguments.json() ? document_of(a, b, result).dump(2) + "\n" : text_of(a, b, result));
    if (result.verdict == Difference::kUnknown) return kMachineCannot;
    return result.verdict == Difference::kNone ? kDone : kAnswerIsNo;
  };
  return verb;
}

}  // namespace perjoule::cli

// perjoule doctor: what hinders measuring here, and what to do about it.
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/calibrate.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/diagnosis.h"
#include "device/journal.h"
#include "device/rapl_permission.h"
#include "store/store.h"
#include "store/store_health.h"

namespace perjoule::cli {
namespace {

Json strings(const std::vector<std::string>& all) {
  Json array = Json::array();
  for (const std::string& one : all) array.push_back(one);
  return array;
}

struct Repair {
  std::vector<std::string> put_back;
  std::vector<std::string> left;  ///< what could not be put back
  RaplPermission permission;
};

/// Puts back what dead processes left and lets the group read RAPL.
Result<Repair> repair(const Arguments& arguments, const Inventory& machine) {
  Repair done;
  PJ_TRY(done.permission,
         open_rapl_to_group(environment("PERJOULE_ETC_ROOT", "/etc"), arguments.value("group")));
  PJ_TRY(const KnobJournal journal, KnobJournal::open(journal_folder(), machine));
  done.put_back = journal.replayed();
  for (const Problem& problem : journal.problems())
    done.left.push_back(problem.subject + ": " + problem.error.text());
  return done;
}

Json document(const std::vector<Finding>& findings, const Repair& done) {
  Json json = Json::object();
  json["schema"] = "perjoule.doctor.v1";
  json["hindered"] = is_hindered(findings);
  json["findings"] = Json::array();
  for (const Finding& finding : findings) {
    Json one = Json::object();
    one["weight"] = name_of(finding.weight);
    one["subject"] = finding.subject;
    one["text"] = finding.text;
    one["remedy"] = finding.remedy;
    json["findings"].push_back(std::move(one));
  }
  json["written"] = strings(done.permission.written);
  json["next"] = strings(done.permission.next);
  json["put_back"] = strings(done.put_back);
  json["left"] = strings(done.left);
  return json;
}

void print_findings(const std::vector<Finding>& findings, const Repair& done) {
  constexpr std::string_view kMarks[] = {"ok    ", "note  ", "hinder"};
  for (const Finding& finding : findings) {
    std::string line(kMarks[static_cast<int>(finding.weight)]);
    line += "  " + finding.subject + ": " + finding.text + "\n";
    if (!finding.remedy.empty()) line += "          -> " + finding.remedy + "\n";
    print(line);
  }
  for (const std::string& line : done.put_back) print("put back: " + line + "\n");
  for (const std::string& line : done.left) print("not put back: " + line + "\n");
  for (const std::string& path : done.permission.written) print("wrote " + path + "\n");
  if (!done.permission.next.empty()) print("to put it into force:\n");
  for (const std::string& command : done.permission.next) print("  " + command + "\n");
}

Finding look_at_store() {
  const StoreHealth health = examine_store(default_store_path());
  const bool well = health.reads && health.keeps;
  return {well ? Finding::Weight::kFine : Finding::Weight::kHindrance, "store", health.text,
          health.remedy};
}

Result<int> examine(const Arguments& arguments) {
  if (arguments.has("calibrate")) return calibrate(arguments);
  const RealClock clock;
  const Roots roots = Roots::from_environment();
  const Inventory machine = discover(roots, clock);
  Repair done;
  if (arguments.has("fix")) {
    PJ_TRY(done, repair(arguments, machine));
  }
  DiagnosisOptions options;
  options.journal_folder = journal_folder();
  options.root = ::geteuid() == 0;
  std::vector<Finding> findings = diagnose(machine, roots, options);
  findings.push_back(look_at_store());
  if (arguments.json()) {
    print(document(findings, done).dump(2) + "\n");
  } else {
    print_findings(findings, done);
  }
  return is_hindered(findings) ? kAnswerIsNo : kDone;
}

}  // namespace

Verb doctor_verb() {
  Verb verb;
  verb.name = "doctor";
  verb.summary = "what hinders measuring here, and its remedy";
  verb.description =
      "Looks at every source, permission, driver setting and left-behind knob, and at the store of "
      "runs (its folder, its version, every page of its file), and says what to do. "
      "The exit status is 0 when nothing hinders measuring and 1 when something does. --fix puts "
      "back what dead processes left and, as root, writes the rule that lets a group read the "
      "processors' energy counters; it says what it wrote. --calibrate corrects a source by an "
      "external meter and narrows its error.";
  verb.options = {{"fix", "", "put settings back and let a group read RAPL (needs root)"},
                  {"group", "NAME", "the group that may read RAPL, with --fix", "perjoule"}};
  for (Option& option : calibrate_options()) verb.options.push_back(std::move(option));
  verb.examples = {"perjoule doctor",
                   "perjoule doctor --calibrate meter.csv --course run.csv --source cpu:0/package",
                   "sudo perjoule doctor --fix --group power",
                   "perjoule doctor --json | jq '.findings[] | select(.weight==\"hindrance\")'"};
  verb.run = examine;
  return verb;
}

}  // namespace perjoule::cli

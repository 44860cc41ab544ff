// perjoule doctor: what hinders measuring here, and what to do about it.
#include <unistd.h>

#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "cli/calibrate.h"
#include "cli/machine.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/diagnosis.h"
#include "device/journal.h"
#include "device/rapl_permission.h"
#include "meter/calibration.h"
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
  Outcome permitted;  ///< whether the rule could be written, where it was wanted
};

/// Puts back what dead processes left, which an ordinary user may have done with knobs of his own,
/// and only then, where it is asked for, lets the group read RAPL, which needs root.
Repair repair(const Arguments& arguments, const Inventory& machine, const Roots& roots) {
  Repair done;
  const Replay replay = replay_dead(journal_folder(), machine);
  done.put_back = replay.put_back;
  for (const Problem& problem : replay.problems)
    done.left.push_back(problem.subject + ": " + problem.error.text());
  if (!arguments.has("fix")) return done;
  auto permission = open_rapl_to_group(roots.etc, arguments.value("group"));
  if (permission) {
    done.permission = std::move(*permission);
  } else {
    done.permitted = fail(permission, "letting a group read the processors' energy");
  }
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

/// A file that cannot be read stops everything that measures.
std::optional<Finding> look_at_calibrations() {
  const auto kept = load_calibrations(calibration_path());
  if (!kept)
    return Finding{Finding::Weight::kHindrance, "calibration", kept.error().message,
                   kept.error().remedy};
  if (kept->empty()) return std::nullopt;
  std::string sources;
  for (const Calibration& one : *kept) sources += (sources.empty() ? "" : ", ") + one.source;
  return Finding{
      Finding::Weight::kFine, "calibration", "corrected by an external meter: " + sources, {}};
}

Result<int> examine(const Arguments& arguments) {
  if (arguments.has("calibrate")) return calibrate(arguments);
  const RealClock clock;
  const Roots roots = Roots::from_environment();
  PJ_TRY(const Inventory machine, look_at_machine(clock));
  const Repair done = repair(arguments, machine, roots);
  DiagnosisOptions options;
  options.journal_folder = journal_folder();
  options.root = ::geteuid() == 0;
  std::vector<Finding> findings = diagnose(machine, roots, options);
  findings.push_back(look_at_store());
  if (auto found = look_at_calibrations()) findings.push_back(std::move(*found));
  if (arguments.json()) {
    print(document(findings, done).dump(2) + "\n");
  } else {
    print_findings(findings, done);
  }
  if (!done.permitted) return fail(done.permitted);
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
      "Knobs that a killed process left turned are put back first, as by every verb that measures. "
      "The exit status is 0 when nothing hinders measuring and 1 when something does. --fix then "
      "writes the rule that lets a group read the processors' energy counters, which needs root, "
      "and says what it wrote; status 3 where it may not. --calibrate corrects a source by an "
      "external meter and narrows its error; a fit that narrows nothing, falls with the reading or "
      "follows no meter is refused and not kept.";
  verb.options = {{"fix", "", "let a group read RAPL, once settings are put back (needs root)"},
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

#include "cli/run_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/csv.h"
#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/table.h"
#include "device/peak_rate.h"
#include "meter/attribution.h"
#include "meter/measurement_json.h"
#include "meter/ranks.h"

namespace perjoule::cli {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

/// Idle energy over the run's time, with the baseline's uncertainty.
std::optional<Energy> static_energy(const RunReport& report) {
  if (!report.baseline || report.baseline->duration.value() <= 0) return std::nullopt;
  Energy idle =
      report.baseline->total() * (report.result.measurement.duration / report.baseline->duration);
  return idle;
}

/// The CPU's energy between the command and everyone else, by CPU time.
std::vector<Attributed> cpu_shares(const RunReport& report) {
  const CommandResult& result = report.result;
  if (!result.cpu_of_program || !result.cpu_of_machine) return {};
  std::optional<Energy> cpu;
  for (const SourceMeasurement& source : result.measurement.sources) {
    if (!source.info.overlaps.empty() || source.info.device.rfind("cpu:", 0) != 0) continue;
    cpu = cpu ? *cpu + source.energy : source.energy;
  }
  if (!cpu || cpu->status == Status::kMissing) return {};
  std::optional<Joules> idle;
  if (report.baseline) {
    Joules power_time;
    for (const SourceMeasurement& source : report.baseline->sources) {
      if (source.info.overlaps.empty() && source.info.device.rfind("cpu:", 0) == 0)
        power_time += source.energy.joules;
    }
    idle = power_time * (result.measurement.duration / report.baseline->duration);
  }
  const double mine = result.cpu_of_program->value();
  // The two clocks tick apart: the machine's total may be a tick short of the program's own.
  const double others = std::max(0.0, result.cpu_of_machine->value() - mine);
  const double ticks = result.cpu_of_machine->value() * static_cast<double>(::sysconf(_SC_CLK_TCK));
  return attribute(*cpu, idle, {{"this command", mine}, {"everything else", others}}, ticks);
}

/// A GPU's energy between the command and others that held it too, by its time.
struct GpuShares {
  std::string device;
  std::vector<Attributed> parts;
  std::set<std::int64_t> strangers;
};

std::vector<GpuShares> gpu_shares(const RunReport& report) {
  std::vector<GpuShares> all;
  for (const DeviceUsage& usage : report.result.gpu_usage) {
    if (usage.looks == 0) continue;
    std::optional<Energy> energy;
    for (const SourceMeasurement& source : report.result.measurement.sources) {
      if (source.info.device == usage.device && source.info.overlaps.empty())
        energy = energy ? *energy + source.energy : source.energy;
    }
    if (!energy || energy->status == Status::kMissing) continue;
    all.push_back({usage.device,
                   attribute(*energy, std::nullopt,
                             {{"this command", usage.mine.value()},
                              {"everything else", usage.others.value()}},
                             usage.equal_looks()),
                   usage.strangers});
  }
  return all;
}

Json gpu_share_document(const std::vector<GpuShares>& all) {
  Json array = Json::array();
  for (const GpuShares& shares : all) {
    Json one = Json::object();
    one["device"] = shares.device;
    one["shares"] = to_json(shares.parts);
    one["other_processes"] = Json::array();
    for (const std::int64_t pid : shares.strangers) one["other_processes"].push_back(pid);
    array.push_back(std::move(one));
  }
  return array;
}

/// Said only where others held the GPU: alone the command has all of it.
void print_gpu_shares(const RunReport& report) {
  for (const GpuShares& shares : gpu_shares(report)) {
    if (shares.strangers.empty()) continue;
    for (const Attributed& part : shares.parts) {
      print(fmt::format("{}: {} {} ({}, by GPU time)\n", shares.device, part.owner,
                        with_uncertainty(part.energy), percent(part.share)));
    }
    std::string pids;
    for (const std::int64_t pid : shares.strangers)
      pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
    print(fmt::format(
        "note: {} was held by {} too (pid {}): its energy is of all of them\n", shares.device,
        counted(static_cast<double>(shares.strangers.size()), "other process"), pids));
  }
}

/// FLOP a second the measured GPUs could do together; none when one of them is not in the table.
std::optional<double> peak_of(const RunReport& report) {
  if (report.peak) return report.peak;
  if (report.gpu_names.empty()) return std::nullopt;
  double sum = 0;
  for (const std::string& name : report.gpu_names) {
    const auto peak = find_peak_rate(name);
    if (!peak) return std::nullopt;
    sum += peak->flop_per_second;
  }
  return sum;
}

std::optional<double> share_of_peak(const RunReport& report) {
  const auto peak = peak_of(report);
  const double seconds = report.result.measurement.duration.value();
  if (!is_flop(report.unit) || !peak || seconds <= 0) return std::nullopt;
  return report.result.units / seconds / *peak;
}

Json unit_document(const RunReport& report) {
  const CommandResult& result = report.result;
  const Energy total = result.measurement.total();
  Json unit = Json::object();
  unit["name"] = report.unit.empty() ? "unit" : report.unit;
  unit["count"] = result.units;
  unit["bad_lines"] = static_cast<std::int64_t>(result.bad_unit_lines);
  if (result.units > 0) {
    unit["energy"] = to_json(total / result.units);
    unit["time_s"] = result.measurement.duration.value() / result.units;
    // Of a lower bound's energy it would flatter.
    unit["units_per_joule"] =
        total.one_sided() ? Json() : Json(result.units / total.joules.value());
    if (const auto share = share_of_peak(report)) {
      unit["peak_flop_per_s"] = *peak_of(report);
      unit["share_of_peak"] = *share;
    }
    if (!result.unit_costs.empty()) {
      std::vector<double> joules;
      for (const UnitCost& cost : result.unit_costs) joules.push_back(cost.energy.value());
      const auto middle = joules.begin() + static_cast<std::ptrdiff_t>(joules.size() / 2);
      std::nth_element(joules.begin(), middle, joules.end());
      unit["median_j"] = *middle;
    }
  }
  return unit;
}

bool counts_units(const RunReport& report) {
  return !report.unit.empty() || report.result.units > 0;
}

std::string bounded_power(const Energy& energy, Watts power) {
  return std::string(bound_words(energy)) + to_text(power, 3);
}

/// The total of the summed sources of each status, in the order they appear.
std::vector<Energy> totals_by_status(const Measurement& measurement) {
  std::vector<Energy> totals;
  for (const SourceMeasurement& source : measurement.sources) {
    if (!measurement.is_summed(source)) continue;
    auto same = std::find_if(totals.begin(), totals.end(), [&](const Energy& total) {
      return total.status == source.energy.status;
    });
    if (same == totals.end()) {
      totals.push_back(source.energy);
    } else {
      *same = *same + source.energy;
    }
  }
  return totals;
}

void print_notes(const RunReport& report) {
  const CommandResult& result = report.result;
  const Measurement& measurement = result.measurement;
  if (result.bad_unit_lines > 0) {
    print(fmt::format("note: {} of units held no number and {} left out\n",
                      counted(static_cast<double>(result.bad_unit_lines), "report"),
                      result.bad_unit_lines == 1 ? "was" : "were"));
  }
  if (report.expected_units && result.units <= 0) {
    print(fmt::format(
        "note: no unit of the {:g} of --epochs was counted, so nothing was predicted: count them "
        "with --unit or --unit-pattern\n",
        *report.expected_units));
  }
  if (result.missed_ticks > 0)
    print(fmt::format("note: {} missed\n",
                      counted(static_cast<double>(result.missed_ticks), "sampling tick")));
  if (result.budget_reached) print("note: the energy budget was reached; the command was ended\n");
  for (const std::int64_t pid : result.left_running)
    print(fmt::format("note: process {} could not be ended and still runs\n", pid));
  for (const SourceMeasurement& source : measurement.sources) {
    for (const std::string& note : source.notes)
      print("note: " + source.info.id + " " + note + "\n");
  }
  for (const std::string& note : measurement.notes) print("note: " + note + "\n");
}

/// ", 66 steps: 3.1 J and 5 ms a step" behind the time; empty where no unit was asked for.
std::string units_text(const RunReport& report) {
  const double units = report.result.units;
  if (!counts_units(report)) return {};
  const std::string unit = report.unit.empty() ? "unit" : report.unit;
  if (units <= 0) return fmt::format(", no {} was reported", unit);
  const Measurement& measurement = report.result.measurement;
  const Energy total = measurement.total();
  std::string text =
      fmt::format(", {}: {} and {} {}", counted(units, unit), with_uncertainty(total / units),
                  to_text(measurement.duration / units, 4), with_article(unit));
  if (!is_flop(unit)) return text;
  const char* bound = total.lower_bound ? "at most " : total.upper_bound ? "at least " : "";
  text += fmt::format("; {}{:.4g} FLOP/J", bound, units / total.joules.value());
  if (const auto share = share_of_peak(report))
    text += fmt::format(", {} of the peak of {:.4g} FLOP/s", percent(*share), *peak_of(report));
  return text;
}

void print_table(const RunReport& report) {
  const Measurement& measurement = report.result.measurement;
  Table table({{"SOURCE"},
               {"ENERGY", Table::Align::kRight},
               {"POWER", Table::Align::kRight},
               {"STATUS"},
               {"GRADE"},
               {"BOUNDARY"}});
  const auto row = [&](const std::string& name, const Energy& energy) {
    const Watts power =
        measurement.duration.value() > 0 ? energy.joules / measurement.duration : Watts(0);
    table.add({name, with_uncertainty(energy),
               energy.status == Status::kMissing ? "" : bounded_power(energy, power),
               energy.status_text(), std::string(name_of(energy.grade())),
               std::string(name_of(energy.boundary))});
  };
  std::size_t summed = 0;
  for (const SourceMeasurement& source : measurement.sources) {
    const bool whole = source.info.boundary == Boundary::kNode;
    if (source.info.kind == SourceKind::kPowerGauge && !source.info.overlaps.empty() && !whole)
      continue;  // shown by its counter
    const bool adds = measurement.is_summed(source);
    summed += adds;
    row((adds ? "" : whole ? "  contains: " : "  within: ") + source.info.id, source.energy);
  }
  // A measurement and an estimate are added up apart before they are added together.
  const std::vector<Energy> by_status = totals_by_status(measurement);
  if (by_status.size() > 1) {
    for (const Energy& part : by_status) row("total, " + part.status_text(), part);
  }
  if (summed != 1) row("total", measurement.total());
  if (const auto idle = static_energy(report)) {
    row("static (idle)", *idle);
    row("dynamic", measurement.total() - *idle);
  }
  print(table.text());
  print(fmt::format("\ntime {}", to_text(measurement.duration, 4)));
  print(units_text(report));
  print("\n");
  for (const Attributed& part : cpu_shares(report)) {
    print(fmt::format("CPU: {} {} ({}, by CPU time)\n", part.owner, with_uncertainty(part.energy),
                      percent(part.share)));
  }
  print_gpu_shares(report);
  print_notes(report);
}

Outcome write_courses(const RunReport& report, const std::string& path) {
  std::string text = "source,unix_s,time_s,power_w\n";
  if (report.result.courses.empty()) return {};
  Instant first = report.result.courses.front().timeline->size() > 0
                      ? report.result.courses.front().timeline->time(0)
                      : Instant{};
  for (const Course& course : report.result.courses) {
    const Timeline& timeline = *course.timeline;
    for (std::size_t i = 0; i + 1 < timeline.size(); ++i) {
      const double middle =
          0.5 * ((timeline.time(i) - first) + (timeline.time(i + 1) - first)).value();
      const double unix_s =
          static_cast<double>(report.result.measurement.begin_unix_ns) * 1e-9 + middle;
      text += fmt::format("{},{:.6f},{:.6f},{:.6g}\n", csv_field(course.info.id), unix_s, middle,
                          timeline.power(i).value());
    }
  }
  return write_file_atomically(path, text);
}

}  // namespace

Json run_document(const RunReport& report) {
  const CommandResult& result = report.result;
  Json json = to_json(result.measurement);
  json["schema"] = "perjoule.run.v1";
  json["host"] = host_name();
  json["command"] = Json::array();
  for (const std::string& word : report.command) json["command"].push_back(word);
  if (const auto rank = find_rank([](const char* name) { return environment(name); }))
    json["rank"] = to_json(*rank);
  json["totals_by_status"] = Json::array();
  for (const Energy& part : totals_by_status(result.measurement)) {
    json["totals_by_status"].push_back(to_json(part));
  }
  json["project"] = report.project;
  // The first as it always was; all of them beside it.
  json["tag"] = report.tags.empty() ? std::string() : report.tags.front();
  json["tags"] = Json::array();
  for (const std::string& tag : report.tags) json["tags"].push_back(tag);
  json["exit_status"] = result.end.status;
  json["budget_reached"] = result.budget_reached;
  for (const std::int64_t pid : result.left_running) json["left_running"].push_back(pid);
  json["sampling"]["every_s"] = report.every.value();
  json["sampling"]["missed_ticks"] = result.missed_ticks;
  if (counts_units(report)) json["unit"] = unit_document(report);
  if (const auto idle = static_energy(report)) {
    json["static"] = to_json(*idle);
    json["dynamic"] = to_json(result.measurement.total() - *idle);
    json["baseline"] = to_json(*report.baseline);
  }
  if (const auto shares = cpu_shares(report); !shares.empty()) json["cpu_shares"] = to_json(shares);
  if (const auto shares = gpu_shares(report); !shares.empty())
    json["gpu_shares"] = gpu_share_document(shares);
  return json;
}

RunRecord run_record(const RunReport& report) {
  const Measurement& measurement = report.result.measurement;
  RunRecord record;
  record.started_unix_ns = measurement.begin_unix_ns;
  record.duration = measurement.duration;
  record.host = host_name();
  for (const std::string& word : report.command)
    record.command += (record.command.empty() ? "" : " ") + word;
  record.project = report.project;
  record.tags = report.tags;
  record.unit = report.unit;
  record.document = run_document(report);
  for (const Course& course : report.result.courses) {
    StoredTimeline timeline;
    timeline.source = course.info.id;
    timeline.t0_unix_ns = measurement.begin_unix_ns;
    timeline.dt = std::max(report.every, course.info.tick);
    timeline.watts = course.timeline->even_power(timeline.dt);
    if (!timeline.watts.empty()) record.timelines.push_back(std::move(timeline));
  }
  return record;
}

Outcome deliver(const RunReport& report, const Arguments& arguments) {
  if (arguments.has("output")) {
    const auto written =
        write_file_atomically(arguments.value("output"), run_document(report).dump(2) + "\n");
    if (!written) {
      // The file is lost; the figures need not be.
      print_table(report);
      return fail(written);
    }
  } else if (arguments.json()) {
    print(run_document(report).dump(2) + "\n");
  } else {
    print_table(report);
  }
  // Last: a full disk must not cost the figures.
  if (arguments.has("csv")) return write_courses(report, arguments.value("csv"));
  return {};
}

}  // namespace perjoule::cli

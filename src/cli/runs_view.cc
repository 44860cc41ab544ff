#include "cli/runs_view.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/csv.h"
#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/text.h"
#include "base/utc_text.h"
#include "cli/table.h"

namespace perjoule::cli {

namespace {

/// The energy under `name`; missing when the document has none that can be read.
Energy energy_of(const Json* json, const std::string& otherwise) {
  if (json == nullptr) return Energy::missing(otherwise);
  const Json* inner = json->find("energy");
  const Result<Energy> energy = energy_from_json(inner != nullptr ? *inner : *json);
  return energy ? *energy : Energy::missing(otherwise);
}

std::string joules_text(const Energy& energy) {
  if (energy.status == Status::kMissing) return "-";
  return with_uncertainty(energy);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// "note: ..." a line: what the run said of itself, and each source of it.
std::string notes_text(const Json& document) {
  std::string text;
  const auto add = [&text](const Json& holder, const std::string& subject) {
    const Json* notes = holder.find("notes");
    if (notes == nullptr || notes->as_array() == nullptr) return;
    for (const Json& note : *notes->as_array()) {
      if (note.as_string() != nullptr)
        text += "note: " + printable(subject + *note.as_string()) + "\n";
    }
  };
  const Json* sources = document.find("sources");
  if (sources != nullptr && sources->as_array() != nullptr) {
    for (const Json& source : *sources->as_array())
      add(source, source.string("id").value_or(source.string("source").value_or("?")) + " ");
  }
  add(document, "");
  return text;
}

/// "  steps    66: 3.1 J and 5 ms a step".
std::string unit_text(const Json& document) {
  const Json* unit = document.find("unit");
  if (unit == nullptr || !unit->is_object()) return {};
  const std::string name = printable(unit->string("name").value_or("unit"));
  const double count = unit->number("count").value_or(0);
  if (!(count > 0)) return "no " + name + " was reported";
  std::string text = counted(count, name);
  if (unit->find("energy") != nullptr)
    text += ": " + joules_text(energy_of(unit->find("energy"), "unit")) + " and " +
            to_text(Seconds(unit->number("time_s").value_or(0)), 4) + " " + with_article(name);
  if (const auto share = unit->number("share_of_peak"))
    text += ", " + percent(*share) + " of the peak";
  return text;
}

/// Lines of what was shared out among owners, as `run` prints them.
std::string shares_text(const Json* shares, const std::string& subject, std::string_view by) {
  std::string text;
  if (shares == nullptr || shares->as_array() == nullptr) return text;
  for (const Json& part : *shares->as_array()) {
    text += fmt::format("{}: {} {} ({}, by {})\n", subject,
                        printable(part.string("owner").value_or("?")),
                        joules_text(energy_of(part.find("energy"), "share")),
                        percent(part.number("share").value_or(0)), by);
  }
  return text;
}

std::string all_shares_text(const Json& document) {
  std::string text = shares_text(document.find("cpu_shares"), "CPU", "CPU time");
  const Json* gpus = document.find("gpu_shares");
  if (gpus == nullptr || gpus->as_array() == nullptr) return text;
  for (const Json& gpu : *gpus->as_array()) {
    const Json* others = gpu.find("other_processes");
    const bool alone =
        others == nullptr || others->as_array() == nullptr || others->as_array()->empty();
    if (alone) continue;  // all of it is the command's
    text += shares_text(gpu.find("shares"), printable(gpu.string("device").value_or("GPU")),
                        "GPU time");
  }
  return text;
}

}  // namespace

std::string runs_table(const std::vector<RunRecord>& runs) {
  Table table({{"id"},
               {"started (UTC)"},
               {"took", Table::Align::kRight},
               {"energy", Table::Align::kRight},
               {"status"},
               {"project"},
               {"tags"},
               {"command"}});
  for (const RunRecord& run : runs) {
    const Energy total = energy_of(run.document.find("total"), "total");
    table.add({run.id, utc_text(run.started_unix_ns), to_text(run.duration, 3), joules_text(total),
               total.status_text(), printable(run.project), printable(joined(run.tags)),
               shortened(printable(run.command), 40)});
  }
  return table.text();
}

std::string run_text(const RunRecord& run) {
  std::string out = fmt::format("run {}\n", run.id);
  const auto line = [&out](std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {:<9}{}\n", name, printable(value));
  };
  line("command", run.command);
  line("started", utc_text(run.started_unix_ns) + " UTC");
  line("took", to_text(run.duration));
  line("host", run.host);
  line("project", run.project);
  line("tags", joined(run.tags));
  const std::string units = unit_text(run.document);
  line("unit", units.empty() ? run.unit : units);
  if (const auto status = run.document.integer("exit_status"))
    line("exit", "status " + std::to_string(*status));
  Table table({{"source"},
               {"energy (k=2)", Table::Align::kRight},
               {"mean power", Table::Align::kRight},
               {"status"},
               {"grade"},
               {"boundary"}});
  const auto row = [&](const std::string& name, const Energy& energy) {
    const bool known = energy.status != Status::kMissing && run.duration.value() > 0;
    table.add({name, joules_text(energy),
               known ? std::string(bound_words(energy)) + to_text(energy.joules / run.duration)
                     : std::string("-"),
               energy.status_text(), std::string(name_of(energy.grade())),
               std::string(name_of(energy.boundary))});
  };
  const Json* sources = run.document.find("sources");
  if (sources != nullptr && sources->as_array() != nullptr) {
    for (const Json& source : *sources->as_array()) {
      const Energy energy = energy_of(&source, source.string("source").value_or("?"));
      row(printable(energy.source), energy);
    }
  }
  row("total", energy_of(run.document.find("total"), "total"));
  for (const auto& [member, name] :
       {std::pair("static", "static (idle)"), std::pair("dynamic", "dynamic")}) {
    if (const Json* part = run.document.find(member)) row(name, energy_of(part, member));
  }
  out += "\n" + table.text() + all_shares_text(run.document) + notes_text(run.document);
  for (const StoredTimeline& timeline : run.timelines) {
    out += fmt::format("{}{}: {}, one every {}\n", &timeline == run.timelines.data() ? "\n" : "",
                       printable(timeline.source),
                       counted(static_cast<double>(timeline.watts.size()), "sample"),
                       to_text(timeline.dt, 3));
  }
  return out;
}

std::string samples_csv(const std::vector<RunRecord>& runs) {
  std::string out = "run,source,unix_s,watts\n";
  for (const RunRecord& run : runs) {
    for (const StoredTimeline& timeline : run.timelines) {
      const std::string head = csv_field(run.id) + "," + csv_field(timeline.source) + ",";
      for (std::size_t i = 0; i < timeline.watts.size(); ++i) {
        const auto after_ns = static_cast<std::int64_t>(
            std::llround(timeline.dt.value() * 1e9 * static_cast<double>(i)));
        const std::int64_t ns = timeline.t0_unix_ns + after_ns;
        out += head + fmt::format("{}.{:09},", ns / 1'000'000'000, ns % 1'000'000'000);
        // Shortest decimal of the float, not of the double it widens to.
        if (std::isfinite(timeline.watts[i])) out += fmt::format("{}", timeline.watts[i]);
        out += "\n";
      }
    }
  }
  return out;
}

}  // namespace perjoule::cli

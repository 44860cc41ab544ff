#include "meter/compare.h"

#include <cmath>

#include "base/energy_json.h"

namespace perjoule {

Result<ComparedRun> compared_run(const Json& document, std::string name) {
  ComparedRun run;
  run.name = std::move(name);
  const auto duration = document.number("duration_s");
  const Json* total = document.find("total");
  if (!duration || total == nullptr) {
    return Error::invalid_argument(run.name + ": not a run: no duration_s or no total", "give a run's id or its JSON file");
  }
  run.time = Seconds(*duration);
  auto energy = energy_from_json(*total);
  if (!energy) return fail(energy, run.name + ": total");
  run.total = std::move(*energy);
  if (const Json* idle = document.find("static")) {
    auto parsed = energy_from_json(*idle);
    if (!parsed) return fail(parsed, run.name + ": static");
    run.static_energy = std::move(*parsed);
  }
  if (const Json* unit = document.find("unit"); unit != nullptr && unit->is_object()) {
    run.units = unit->number("count").value_or(0);
    run.unit = unit->string("name").value_or("");
  }
  return run;
}

namespace {
/// Which part of a saving weighs more; a part counts when it is at least a fifth of the whole.
std::string kind_of(const Energy& static_change, const Energy& dynamic_change) {
  const double waiting = -static_change.joules.value();
  const double work = -dynamic_change.joules.value();
  const double whole = waiting + work;
  if (whole == 0) return {};
  const std::string less = whole > 0 ? "less" : "more";
  const bool waits = waiting / whole >= 0.2;
  const bool works = work / whole >= 0.2;
  if (waits && works) return less + " work and " + less + " waiting";
  if (waits) return less + " waiting";
  return works ? less + " work" : std::string();
}
}  // namespace

Comparison compare(const ComparedRun& first, const ComparedRun& second) {
  Comparison out;
  out.per_unit = first.units > 0 && second.units > 0 && first.unit == second.unit;
  const double a_scale = out.per_unit ? 1 / first.units : 1;
  const double b_scale = out.per_unit ? 1 / second.units : 1;
  const Energy a = first.total * a_scale;
  const Energy b = second.total * b_scale;
  out.change = b - a;
  out.time_ratio = first.time.value() > 0 ? (second.time * b_scale) / (first.time * a_scale) : 1;
  if (out.change.status == Status::kMissing) return out;
  const double half_width = out.change.expanded_uncertainty().value();
  if (a.joules.value() != 0) {
    out.relative = out.change.joules / a.joules;
    out.relative_half_width = std::abs(half_width / a.joules.value());
  }
  const double change = out.change.joules.value();
  out.verdict = std::abs(change) <= half_width ? Difference::kNone : change < 0 ? Difference::kLess : Difference::kMore;
  if (first.static_energy && second.static_energy) {
    out.static_change = *second.static_energy * b_scale - *first.static_energy * a_scale;
    out.dynamic_change = out.change - *out.static_change;
    if (out.verdict != Difference::kNone) out.kind = kind_of(*out.static_change, *out.dynamic_change);
  }
  return out;
}

}  // namespace perjoule

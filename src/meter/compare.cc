#include "meter/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/energy_json.h"
#include "meter/uncertainty.h"

namespace perjoule {

Outcome check_run_schema(const Json& document, const std::string& name) {
  const std::string schema = document.string("schema").value_or("");
  const bool ours = schema.starts_with("perjoule.run.v") || schema.starts_with("perjoule.runs.v");
  if (!ours || schema == "perjoule.run.v1" || schema == "perjoule.runs.v1") return {};
  return Error::not_supported(
      fmt::format("{}: written as {}, this perjoule reads perjoule.run.v1 and perjoule.runs.v1",
                  name, schema),
      "read it with the perjoule that wrote it, or a newer one");
}

Result<ComparedRun> compared_run(const Json& document, std::string name) {
  PJ_CHECK(check_run_schema(document, name));
  // What `runs show --json` and `runs export` print holds the document within.
  if (const Json* runs = document.find("runs"); runs != nullptr && runs->as_array() != nullptr) {
    const Json* only =
        runs->as_array()->size() == 1 ? runs->as_array()->front().find("document") : nullptr;
    if (only == nullptr) {
      return Error::invalid_argument(
          fmt::format("{}: holds {} runs, one is compared", name, runs->as_array()->size()),
          "write each run to a file of its own: perjoule runs export ID -o FILE");
    }
    return compared_run(*only, std::move(name));
  }
  ComparedRun run;
  run.name = std::move(name);
  const auto duration = document.number("duration_s");
  const Json* total = document.find("total");
  if (!duration || total == nullptr) {
    return Error::invalid_argument(run.name + ": not a run: no duration_s or no total",
                                   "give a run's id or its JSON file");
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
/// A model's error need not be the same in two runs; a sensor's is.
bool is_model_error(const std::string& sensor) { return sensor.ends_with(kModelErrorSuffix); }

/// One sigma of the ratio b/a. An error proportional to the energy (a gain) is the same factor in
/// both and leaves no trace; an offset leaves what its two times differ by.
double ratio_sigma(const Energy& a, const Energy& b) {
  const double first = a.joules.value();
  const double ratio = b.joules.value() / first;
  double variance = std::pow(b.random.value(), 2) + std::pow(ratio * a.random.value(), 2);
  for (const SystematicPart& part : b.systematic) {
    double shared = 0;
    for (const SystematicPart& other : a.systematic) {
      if (other.sensor == part.sensor && !is_model_error(part.sensor))
        shared = ratio * other.sigma.value();
    }
    variance += std::pow(part.sigma.value() - shared, 2);
  }
  for (const SystematicPart& part : a.systematic) {
    const bool matched =
        !is_model_error(part.sensor) &&
        std::any_of(b.systematic.begin(), b.systematic.end(),
                    [&](const SystematicPart& other) { return other.sensor == part.sensor; });
    if (!matched) variance += std::pow(ratio * part.sigma.value(), 2);
  }
  return std::sqrt(variance) / std::abs(first);
}
/// What bounds leave of a verdict: a lower bound decides only that its run takes more.
Difference bounded(Difference verdict, const Energy& a, const Energy& b) {
  const bool a_open_above = a.lower_bound, b_open_above = b.lower_bound;
  const bool a_open_below = a.upper_bound, b_open_below = b.upper_bound;
  if (verdict == Difference::kMore && !a_open_above && !b_open_below) return verdict;
  if (verdict == Difference::kLess && !a_open_below && !b_open_above) return verdict;
  return a.one_sided() || b.one_sided() ? Difference::kUnknown : verdict;
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
  if (a.joules.value() == 0) return out;
  out.relative = out.change.joules / a.joules;
  out.relative_half_width = 2 * ratio_sigma(a, b);
  if (std::abs(out.relative) <= out.relative_half_width) {
    out.verdict = Difference::kNone;
  } else {
    out.verdict = out.relative < 0 ? Difference::kLess : Difference::kMore;
  }
  out.verdict = bounded(out.verdict, a, b);
  if (first.static_energy && second.static_energy) {
    out.static_change = *second.static_energy * b_scale - *first.static_energy * a_scale;
    out.dynamic_change = out.change - *out.static_change;
    const bool parted = !out.static_change->one_sided() && !out.dynamic_change->one_sided();
    if (out.verdict != Difference::kNone && parted)
      out.kind = kind_of(*out.static_change, *out.dynamic_change);
  }
  return out;
}

}  // namespace perjoule

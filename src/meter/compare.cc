#include "meter/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/energy_json.h"
#include "meter/measurement.h"
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

namespace {

/// The summed sources of a run document, each energy's source being the id.
std::vector<Energy> summed_parts(const Json& document) {
  const Json* sources = document.find("sources");
  if (sources == nullptr || sources->as_array() == nullptr) return {};
  std::vector<SourceInfo> infos;
  std::vector<Energy> energies;
  for (const Json& source : *sources->as_array()) {
    const Json* told = source.find("energy");
    auto energy = energy_from_json(told != nullptr ? *told : source);
    const auto id = source.string("id");
    // A document of someone else's: its total is all there is.
    if (!energy || !id) return {};
    SourceInfo info;
    info.id = *id;
    info.overlaps = source.string("overlaps").value_or("");
    info.boundary = energy->boundary;
    energy->source = *id;
    infos.push_back(std::move(info));
    energies.push_back(std::move(*energy));
  }
  std::vector<const SourceInfo*> all;
  all.reserve(infos.size());
  for (const SourceInfo& info : infos) all.push_back(&info);
  std::vector<Energy> parts;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (adds_up(infos[i], all)) parts.push_back(std::move(energies[i]));
  }
  return parts;
}

}  // namespace

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
  run.parts = summed_parts(document);
  if (const Json* idle = document.find("static")) {
    auto parsed = energy_from_json(*idle);
    if (!parsed) return fail(parsed, run.name + ": static");
    run.static_energy = std::move(*parsed);
  }
  run.host = document.string("host").value_or("");
  // What was merged of several hosts has its sensors named already.
  if (const Json* hosts = document.find("hosts"); hosts == nullptr || !hosts->is_object()) {
    run.total.name_sensors_of(run.host);
    for (Energy& part : run.parts) part.name_sensors_of(run.host);
    if (run.static_energy) run.static_energy->name_sensors_of(run.host);
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

/// What a source measures, whichever device of its kind it is: "gpu", "cpu package B0 measured".
std::string kind_of_source(const Energy& part) {
  const std::string_view id = part.source;
  const std::size_t colon = id.find(':');
  const std::size_t slash = id.find('/', colon == std::string_view::npos ? 0 : colon);
  std::string kind(id.substr(0, std::min(colon, slash)));
  if (slash != std::string_view::npos) kind += " " + std::string(id.substr(slash + 1));
  return kind + " " + std::string(name_of(part.boundary)) + " " + part.status_text();
}

/// The parts of `some` whose source `others` has too, or has not.
std::vector<Energy> shared(const std::vector<Energy>& some, const std::vector<Energy>& others,
                           bool wanted) {
  std::vector<Energy> out;
  std::copy_if(some.begin(), some.end(), std::back_inserter(out), [&](const Energy& part) {
    return wanted == std::any_of(others.begin(), others.end(),
                                 [&](const Energy& other) { return other.source == part.source; });
  });
  return out;
}

std::string sources_of(const std::vector<Energy>& parts) {
  std::string text;
  for (const Energy& part : parts) text += (text.empty() ? "" : ", ") + part.source;
  return text.empty() ? "nothing else" : text;
}

Energy sum_of(const std::vector<Energy>& parts) {
  Energy sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
  return sum;
}

/// Two energies of like content, or the reason why there are none.
struct LikeEnergies {
  Energy first;
  Energy second;
  bool whole = true;  ///< both are their runs' totals
  std::string reason;
  std::vector<std::string> notes;
};

/// Of the sources that both have, or all where the others are of the same kinds.
LikeEnergies like_sources(const ComparedRun& a, const ComparedRun& b) {
  LikeEnergies out{a.total, b.total, true, {}, {}};
  if (a.parts.empty() || b.parts.empty()) return out;
  const std::vector<Energy> only_a = shared(a.parts, b.parts, false);
  const std::vector<Energy> only_b = shared(b.parts, a.parts, false);
  if (only_a.empty() && only_b.empty()) return out;
  const std::string apart =
      fmt::format("{} in {}, {} in {}", sources_of(only_a), a.name, sources_of(only_b), b.name);
  std::vector<std::string> kinds[2];
  for (const Energy& part : only_a) kinds[0].push_back(kind_of_source(part));
  for (const Energy& part : only_b) kinds[1].push_back(kind_of_source(part));
  for (auto& list : kinds) std::sort(list.begin(), list.end());
  if (kinds[0] == kinds[1]) {
    out.notes.push_back("other devices of the same kind: " + apart);
    return out;
  }
  const std::vector<Energy> both = shared(a.parts, b.parts, true);
  if (both.empty()) {
    out.reason = "no source was measured in both: " + apart;
    return out;
  }
  out.whole = false;
  out.first = sum_of(both);
  out.second = sum_of(shared(b.parts, a.parts, true));
  out.notes.push_back(
      fmt::format("only {} was measured in both; left out are {}", sources_of(both), apart));
  return out;
}

LikeEnergies like_energies(const ComparedRun& a, const ComparedRun& b) {
  LikeEnergies out = like_sources(a, b);
  if (!out.reason.empty()) return out;
  if (out.first.status == Status::kMissing || out.second.status == Status::kMissing) return out;
  if (out.first.boundary != out.second.boundary) {
    out.reason = fmt::format("unlike boundaries: {} in {}, {} in {}", name_of(out.first.boundary),
                             a.name, name_of(out.second.boundary), b.name);
  } else if (out.first.status_text() != out.second.status_text()) {
    out.notes.push_back(fmt::format("unlike statuses: {} in {}, {} in {}", out.first.status_text(),
                                    a.name, out.second.status_text(), b.name));
  }
  return out;
}

/// Why an energy or its bound gives no verdict.
std::string open_reason(const ComparedRun& a, const ComparedRun& b) {
  std::string text;
  for (const ComparedRun* run : {&a, &b}) {
    if (run->total.status == Status::kMissing || !run->total.one_sided()) continue;
    text += (text.empty() ? "" : ", ") + run->name + " is a " +
            (run->total.lower_bound ? "lower" : "upper") + " bound";
  }
  return text.empty() ? "an energy is missing" : text;
}

/// The change parted by the idle baselines, which are of the whole runs.
void part_change(const ComparedRun& first, double a_scale, const ComparedRun& second,
                 double b_scale, Comparison& out) {
  if (!first.static_energy || !second.static_energy) return;
  out.static_change = *second.static_energy * b_scale - *first.static_energy * a_scale;
  out.dynamic_change = out.change - *out.static_change;
  const bool parted = !out.static_change->one_sided() && !out.dynamic_change->one_sided();
  if (out.verdict != Difference::kNone && parted)
    out.kind = kind_of(*out.static_change, *out.dynamic_change);
}
}  // namespace

Comparison compare(const ComparedRun& first, const ComparedRun& second) {
  Comparison out;
  out.per_unit = first.units > 0 && second.units > 0 && first.unit == second.unit;
  const double a_scale = out.per_unit ? 1 / first.units : 1;
  const double b_scale = out.per_unit ? 1 / second.units : 1;
  LikeEnergies like = like_energies(first, second);
  out.notes = std::move(like.notes);
  if (!first.host.empty() && !second.host.empty() && first.host != second.host) {
    out.notes.push_back(
        fmt::format("of two machines, {} and {}: the errors of their sensors do not cancel",
                    first.host, second.host));
  }
  const Energy& a = out.first = like.first * a_scale;
  const Energy& b = out.second = like.second * b_scale;
  out.time_ratio = first.time.value() > 0 ? (second.time * b_scale) / (first.time * a_scale) : 1;
  out.reason = std::move(like.reason);
  if (!out.reason.empty()) {
    out.change = Energy::missing("unlike sources");
    return out;
  }
  out.change = b - a;
  out.reason = open_reason(first, second);
  if (out.change.status == Status::kMissing || a.joules.value() == 0) return out;
  out.relative = out.change.joules / a.joules;
  out.relative_half_width = 2 * ratio_sigma(a, b);
  if (std::abs(out.relative) <= out.relative_half_width) {
    out.verdict = Difference::kNone;
  } else {
    out.verdict = out.relative < 0 ? Difference::kLess : Difference::kMore;
  }
  out.verdict = bounded(out.verdict, a, b);
  if (out.verdict != Difference::kUnknown) out.reason.clear();
  if (like.whole) {
    part_change(first, a_scale, second, b_scale, out);
  } else if (first.static_energy && second.static_energy) {
    out.notes.emplace_back(
        "static and dynamic energy are not told apart: the idle baselines are "
        "of all sources");
  }
  return out;
}

}  // namespace perjoule

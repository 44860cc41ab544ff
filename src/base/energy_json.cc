#include "base/energy_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace perjoule {

std::optional<Boundary> boundary_named(std::string_view name) {
  constexpr Boundary kAll[] = {Boundary::kDevice, Boundary::kNode, Boundary::kCluster,
                               Boundary::kFacility, Boundary::kLifecycle};
  for (const Boundary boundary : kAll) {
    if (name_of(boundary) == name) return boundary;
  }
  return std::nullopt;
}

Json to_json(const Energy& energy) {
  Json json = Json::object();
  // A missing figure has no value, not even zero.
  const bool missing = energy.status == Status::kMissing;
  json["joules"] = missing ? Json() : Json(energy.joules.value());
  json["expanded_j"] = missing ? Json() : Json(energy.expanded_uncertainty().value());
  json["status"] = energy.status_text();
  json["grade"] = name_of(energy.grade());
  json["boundary"] = name_of(energy.boundary);
  json["source"] = energy.source;
  if (missing) return json;
  if (energy.lower_bound) json["lower_bound"] = true;
  if (energy.upper_bound) json["upper_bound"] = true;
  if (energy.random * 2.0 != energy.expanded_uncertainty()) {
    json["random_j"] = energy.random.value();
  }
  if (!energy.systematic.empty()) {
    Json parts = Json::array();
    for (const SystematicPart& part : energy.systematic) {
      Json entry = Json::object();
      entry["sensor"] = part.sensor;
      entry["sigma_j"] = part.sigma.value();
      parts.push_back(std::move(entry));
    }
    json["systematic"] = std::move(parts);
  }
  if (std::isfinite(energy.lower.value())) json["lower_j"] = energy.lower.value();
  if (std::isfinite(energy.upper.value())) json["upper_j"] = energy.upper.value();
  return json;
}

namespace {

/// The number under `name`, `otherwise` when absent or null; anything else is an error.
Result<double> number_or(const Json& json, std::string_view name, double otherwise) {
  const Json* member = json.find(name);
  if (member == nullptr || member->is_null()) return otherwise;
  const auto value = member->as_number();
  if (!value) return Error::invalid_argument(fmt::format("energy: '{}' is not a number", name));
  return *value;
}

/// The truth value under `name`, false when absent or null; anything else is an error.
Result<bool> flag(const Json& json, std::string_view name) {
  const Json* member = json.find(name);
  if (member == nullptr || member->is_null()) return false;
  const auto value = member->as_bool();
  if (!value) return Error::invalid_argument(fmt::format("energy: '{}' is not a boolean", name));
  return *value;
}

Outcome read_systematic(const Json& json, Energy& energy) {
  const Json* parts = json.find("systematic");
  if (parts == nullptr || parts->is_null()) return {};
  if (parts->as_array() == nullptr)
    return Error::invalid_argument("energy: 'systematic' is not an array");
  for (const Json& part : *parts->as_array()) {
    const auto sensor = part.string("sensor");
    const auto sigma = part.number("sigma_j");
    if (!sensor || !sigma)
      return Error::invalid_argument("energy: 'systematic' needs sensor and sigma_j");
    energy.systematic.push_back(SystematicPart{*sensor, Joules(*sigma)});
  }
  std::stable_sort(
      energy.systematic.begin(), energy.systematic.end(),
      [](const SystematicPart& a, const SystematicPart& b) { return a.sensor < b.sensor; });
  return {};
}

}  // namespace

Result<Energy> energy_from_json(const Json& json) {
  if (!json.is_object()) return Error::invalid_argument("energy: not a JSON object");
  Energy energy;
  const std::string status = json.string("status").value_or("");
  if (!energy.set_status(status)) {
    return Error::invalid_argument(fmt::format("energy: unknown status: '{}'", status),
                                   "measured, simulated, estimated, reconstructed, missing or "
                                   "zero is wanted, or several joined by ' + '");
  }
  const std::string boundary = json.string("boundary").value_or("B0");
  if (const auto known = boundary_named(boundary)) {
    energy.boundary = *known;
  } else {
    return Error::invalid_argument(fmt::format("energy: unknown boundary: '{}'", boundary));
  }
  energy.source = json.string("source").value_or("");
  if (energy.status == Status::kMissing) return energy;
  const auto joules = json.number("joules");
  if (!joules) return Error::invalid_argument("energy: 'joules' is missing or not a number");
  energy.joules = Joules(*joules);
  PJ_TRY(const double expanded, number_or(json, "expanded_j", 0));
  PJ_TRY(const double random, number_or(json, "random_j", expanded / 2));
  PJ_TRY(const double lower, number_or(json, "lower_j", energy.lower.value()));
  PJ_TRY(const double upper, number_or(json, "upper_j", energy.upper.value()));
  energy.random = Joules(random);
  energy.lower = Joules(lower);
  energy.upper = Joules(upper);
  PJ_TRY(energy.lower_bound, flag(json, "lower_bound"));
  PJ_TRY(energy.upper_bound, flag(json, "upper_bound"));
  PJ_CHECK(read_systematic(json, energy));
  return energy;
}

}  // namespace perjoule

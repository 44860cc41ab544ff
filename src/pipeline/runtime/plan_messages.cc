#include "pipeline/runtime/plan_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/energy_json.h"

namespace perjoule {
namespace {

// Longer than any order: a message that names more is none of ours.
constexpr std::int64_t kMostSteps = 10'000'000;

constexpr std::array kCodes = {ErrorCode::kInvalidArgument, ErrorCode::kNotFound,
                               ErrorCode::kNotSupported,    ErrorCode::kPermissionDenied,
                               ErrorCode::kUnavailable,     ErrorCode::kTimeout,
                               ErrorCode::kOutOfRange,      ErrorCode::kDataLoss,
                               ErrorCode::kConflict,        ErrorCode::kInternal};

/// Reads members and remembers the first that is missing or of another kind.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {}

  double number(std::string_view name) {
    const auto value = json_.number(name);
    if (!value) miss(name);
    return value.value_or(0);
  }
  std::int64_t integer(std::string_view name) {
    const auto value = json_.integer(name);
    if (!value) miss(name);
    return value.value_or(0);
  }
  int small(std::string_view name) {
    const std::int64_t value = integer(name);
    if (value < -kMostSteps || value > kMostSteps) miss(name);
    return static_cast<int>(std::clamp(value, -kMostSteps, kMostSteps));
  }
  std::string text(std::string_view name) {
    auto value = json_.string(name);
    if (!value) miss(name);
    return value.value_or("");
  }
  const Json& member(std::string_view name) {
    static const Json kNothing;
    const Json* const found = json_.find(name);
    if (found == nullptr) miss(name);
    return found != nullptr ? *found : kNothing;
  }
  /// Arrays; an empty one where there is none.
  const Json::Array& array(std::string_view name) {
    static const Json::Array kEmpty;
    const Json::Array* const found = member(name).as_array();
    if (found == nullptr) miss(name);
    return found != nullptr ? *found : kEmpty;
  }
  void miss(std::string_view name) {
    if (missing_.empty()) missing_ = name;
  }
  Outcome outcome(std::string_view what) const {
    if (missing_.empty()) return {};
    return Error::invalid_argument(
        fmt::format("{}: '{}' is missing or not what it should be", what, missing_));
  }

 private:
  const Json& json_;
  std::string missing_;
};

/// So many numbers in a row; null stands for one that is none.
std::optional<std::vector<double>> numbers_of(const Json& json) {
  const Json::Array* const array = json.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<double> numbers;
  for (const Json& one : *array) {
    const auto number = one.as_number();
    if (!number && !one.is_null()) return std::nullopt;
    numbers.push_back(number.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return numbers;
}

/// So many whole numbers in a row, none longer than an order; none where it is anything else.
template <std::size_t kCount>
std::optional<std::array<int, kCount>> whole_numbers_of(const Json& json) {
  const Json::Array* const array = json.as_array();
  if (array == nullptr || array->size() != kCount) return std::nullopt;
  std::array<int, kCount> numbers{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto number = (*array)[i].as_integer();
    if (!number || *number < -kMostSteps || *number > kMostSteps) return std::nullopt;
    numbers[i] = static_cast<int>(*number);
  }
  return numbers;
}

Json array_of(const std::vector<Seconds>& times) {
  Json::Array array;
  for (const Seconds time : times) array.emplace_back(time.value());
  return {std::move(array)};
}

std::vector<Seconds> times_of(Members& members, std::string_view name) {
  const auto numbers = numbers_of(members.member(name));
  if (!numbers) members.miss(name);
  std::vector<Seconds> times;
  for (const double number : numbers.value_or(std::vector<double>())) times.emplace_back(number);
  return times;
}

Json counter_json(const SourceInfo& info) {
  Json json = Json::object();
  json["id"] = info.id;
  json["device"] = info.device;
  json["backend"] = info.backend;
  json["scope"] = info.scope;
  json["boundary"] = static_cast<int>(info.boundary);
  json["status"] = name_of(info.status);
  json["tick_s"] = info.tick.value();
  json["averaging_s"] = info.averaging.value();
  json["coverage"] = info.coverage;
  json["quantum_j"] = info.quantum;
  json["gain"] = info.gain;
  json["offset_w"] = info.offset.value();
  json["max_power_w"] = info.max_power.value();
  return json;
}

SourceInfo counter_of(Members& members) {
  Members of(members.member("counter"));
  SourceInfo info;
  info.id = of.text("id");
  info.device = of.text("device");
  info.backend = of.text("backend");
  info.scope = of.text("scope");
  const int boundary = of.small("boundary");
  if (boundary < 0 || boundary > 4) of.miss("boundary");
  info.boundary = static_cast<Boundary>(std::clamp(boundary, 0, 4));
  Energy status;
  if (!status.set_status(of.text("status"))) of.miss("status");
  info.status = status.status;
  info.tick = Seconds(of.number("tick_s"));
  info.averaging = Seconds(of.number("averaging_s"));
  info.coverage = of.number("coverage");
  info.quantum = of.number("quantum_j");
  info.gain = of.number("gain");
  info.offset = Watts(of.number("offset_w"));
  info.max_power = Watts(of.number("max_power_w"));
  if (!of.outcome("")) members.miss("counter");
  return info;
}

}  // namespace

Json to_json(const RankPlace& place) {
  Json json = Json::object();
  json["pipeline"] = place.pipeline;
  json["stage"] = place.stage;
  json["tensor"] = place.tensor;
  json["lowest_mhz"] = place.lowest_mhz;
  json["highest_mhz"] = place.highest_mhz;
  json["counter"] = counter_json(place.counter);
  return json;
}

Result<RankPlace> rank_place_of(const Json& json) {
  Members members(json);
  RankPlace place;
  place.pipeline = members.small("pipeline");
  place.stage = members.small("stage");
  place.tensor = members.small("tensor");
  place.lowest_mhz = members.number("lowest_mhz");
  place.highest_mhz = members.number("highest_mhz");
  place.counter = counter_of(members);
  PJ_CHECK(members.outcome("a rank that joins"));
  return place;
}

Json to_json(const IterationReport& report) {
  Json json = Json::object();
  json["iteration"] = report.iteration;
  json["begin_s"] = report.begin.value();
  json["end_s"] = report.end.value();
  json["start_s"] = array_of(report.start);
  json["took_s"] = array_of(report.took);
  Json::Array ticks;
  for (const CounterTick& tick : report.ticks) {
    ticks.emplace_back(Json::Array{tick.at.value(), tick.gap.value(), tick.energy.value()});
  }
  json["ticks"] = std::move(ticks);
  return json;
}

Result<IterationReport> iteration_report_of(const Json& json) {
  Members members(json);
  IterationReport report;
  report.iteration = members.integer("iteration");
  report.begin = Seconds(members.number("begin_s"));
  report.end = Seconds(members.number("end_s"));
  report.start = times_of(members, "start_s");
  report.took = times_of(members, "took_s");
  double last = -std::numeric_limits<double>::infinity();
  for (const Json& one : members.array("ticks")) {
    const auto tick = numbers_of(one);
    if (!tick || tick->size() != 3 || !((*tick)[0] > last) || !((*tick)[1] >= 0) ||
        std::isnan((*tick)[2])) {
      members.miss("ticks");
      break;
    }
    last = (*tick)[0];
    report.ticks.push_back({Seconds((*tick)[0]), Seconds((*tick)[1]), Joules((*tick)[2])});
  }
  PJ_CHECK(members.outcome("a report of an iteration"));
  return report;
}

Json to_json(const RankWelcome& welcome) {
  Json json = Json::object();
  json["rank"] = welcome.rank;
  Json::Array names;
  for (const std::string& name : welcome.instructions) names.emplace_back(name);
  json["instructions"] = std::move(names);
  Json::Array order;
  for (const PipelineStep& step : welcome.order) {
    order.emplace_back(Json::Array{static_cast<std::int64_t>(step.instruction), step.microbatch,
                                   step.chunk, step.backward_microbatch});
  }
  json["order"] = std::move(order);
  return json;
}

Result<RankWelcome> rank_welcome_of(const Json& json) {
  Members members(json);
  RankWelcome welcome;
  welcome.rank = members.small("rank");
  for (const Json& one : members.array("instructions")) {
    if (one.as_string() == nullptr) members.miss("instructions");
    welcome.instructions.push_back(one.as_string() != nullptr ? *one.as_string() : "");
  }
  for (const Json& one : members.array("order")) {
    const auto step = whole_numbers_of<4>(one);
    if (!step || (*step)[0] < 0 ||
        static_cast<std::size_t>((*step)[0]) >= welcome.instructions.size()) {
      members.miss("order");
      break;
    }
    const auto [instruction, microbatch, chunk, backward] = *step;
    welcome.order.push_back({static_cast<std::uint32_t>(instruction), chunk, microbatch, backward});
  }
  PJ_CHECK(members.outcome("the answer to a rank that joins"));
  return welcome;
}

Json to_json(const RankOrders& orders) {
  Json json = Json::object();
  json["epoch"] = orders.epoch;
  json["phase"] = name_of(orders.phase);
  Json::Array knobs;
  for (const Config& knob : orders.knobs) {
    Json one = Json::object();
    for (const Setting setting : knob.settings()) one[setting.name] = setting.value;
    knobs.push_back(std::move(one));
  }
  json["knobs"] = std::move(knobs);
  Json::Array runs;
  for (std::size_t i = 0; i < orders.knob.size();) {
    std::size_t end = i;
    while (end < orders.knob.size() && orders.knob[end] == orders.knob[i]) ++end;
    runs.emplace_back(
        Json::Array{static_cast<std::int64_t>(orders.knob[i]), static_cast<std::int64_t>(end - i)});
    i = end;
  }
  json["runs"] = std::move(runs);
  return json;
}

Result<RankOrders> rank_orders_of(const Json& json) {
  Members members(json);
  RankOrders orders;
  orders.epoch = members.integer("epoch");
  const std::string phase = members.text("phase");
  bool is_phase = false;
  for (const RuntimePhase one : {RuntimePhase::kWarmUp, RuntimePhase::kProfile,
                                 RuntimePhase::kHighest, RuntimePhase::kPlan}) {
    if (name_of(one) != phase) continue;
    orders.phase = one;
    is_phase = true;
  }
  if (!is_phase) members.miss("phase");
  for (const Json& one : members.array("knobs")) {
    Config knob;
    const Json::Object* const settings = one.as_object();
    if (settings == nullptr) members.miss("knobs");
    for (const auto& [name, value] : settings != nullptr ? *settings : Json::Object()) {
      if (value.as_string() == nullptr) members.miss("knobs");
      knob.set(name, value.as_string() != nullptr ? *value.as_string() : "");
    }
    orders.knobs.push_back(std::move(knob));
  }
  for (const Json& one : members.array("runs")) {
    const auto run = whole_numbers_of<2>(one);
    if (!run || (*run)[0] < 0 || static_cast<std::size_t>((*run)[0]) >= orders.knobs.size() ||
        (*run)[1] < 1 || (*run)[1] > kMostSteps - static_cast<std::int64_t>(orders.knob.size())) {
      members.miss("runs");
      break;
    }
    orders.knob.insert(orders.knob.end(), static_cast<std::size_t>((*run)[1]),
                       static_cast<std::uint32_t>((*run)[0]));
  }
  PJ_CHECK(members.outcome("the orders of an iteration"));
  return orders;
}

Json to_json(const PlanService::Summary& summary) {
  Json json = Json::object();
  json["phase"] = name_of(summary.phase);
  json["settings"] = summary.name;
  json["epoch"] = summary.epoch;
  json["first_iteration"] = summary.first;
  json["iterations"] = summary.iterations;
  json["time_s"] = summary.time.value();
  json["median_time_s"] = summary.median_time.value();
  json["energy"] = to_json(summary.energy);
  const bool planned = summary.planned_time.value() > 0;
  json["planned_time_s"] = planned ? Json(summary.planned_time.value()) : Json();
  json["planned_energy_j"] = planned ? Json(summary.planned_energy.value()) : Json();
  json["gap"] = planned ? Json(summary.gap) : Json();
  return json;
}

Json error_json(const Error& error) {
  Json inner = Json::object();
  inner["code"] = name_of(error.code);
  inner["message"] = error.message;
  inner["remedy"] = error.remedy;
  Json json = Json::object();
  json["error"] = std::move(inner);
  return json;
}

std::optional<Error> error_of(const Json& json) {
  const Json* const inner = json.find("error");
  if (inner == nullptr) return std::nullopt;
  Error error;
  error.code = ErrorCode::kInternal;
  const std::string code = inner->string("code").value_or("");
  for (const ErrorCode one : kCodes) {
    if (name_of(one) == code) error.code = one;
  }
  error.message = inner->string("message").value_or("an error without a message");
  error.remedy = inner->string("remedy").value_or("");
  return error;
}

}  // namespace perjoule

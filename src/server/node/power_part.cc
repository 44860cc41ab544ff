#include "server/node/power_part.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace perjoule {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

Json numbers(const std::vector<float>& values) {
  Json::Array array;
  array.reserve(values.size());
  // What is not finite prints as null.
  for (const float value : values) array.emplace_back(static_cast<double>(value));
  return Json(std::move(array));
}

void add_step(PowerPart& part, const float* begin, const float* end) {
  double sum = 0;
  std::size_t count = 0;
  float least = std::numeric_limits<float>::infinity();
  float most = -least;
  for (const float* value = begin; value != end; ++value) {
    if (!std::isfinite(*value)) continue;
    sum += static_cast<double>(*value);
    ++count;
    least = std::min(least, *value);
    most = std::max(most, *value);
  }
  part.mean.push_back(count > 0 ? static_cast<float>(sum / static_cast<double>(count)) : kUnknown);
  part.least.push_back(count > 0 ? least : kUnknown);
  part.most.push_back(count > 0 ? most : kUnknown);
}

}  // namespace

Outcome check_part(std::int64_t from_unix_ms, std::int64_t to_unix_ms, std::size_t points) {
  if (from_unix_ms < 0 || to_unix_ms <= from_unix_ms) {
    return Error::invalid_argument("a part of a course ends before it begins");
  }
  if (points < 1 || points > kMostPartPoints) {
    return Error::invalid_argument("points is not from 1 to 20000: " + std::to_string(points));
  }
  return {};
}

Result<PowerPart> decimated(const std::vector<float>& watts, std::int64_t t0_unix_ns, Seconds dt,
                            std::int64_t from_unix_ms, std::int64_t to_unix_ms,
                            std::size_t points) {
  PJ_CHECK(check_part(from_unix_ms, to_unix_ms, points));
  if (!(dt > Seconds(0))) return Error::data_loss("a timeline whose samples have no distance");
  const double dt_ms = dt.value() * 1e3;
  const double t0_ms = static_cast<double>(t0_unix_ns) * 1e-6;
  const auto index_of = [&](std::int64_t unix_ms, bool up) {
    const double at = (static_cast<double>(unix_ms) - t0_ms) / dt_ms;
    return static_cast<std::size_t>(
        std::clamp(up ? std::ceil(at) : std::floor(at), 0.0, static_cast<double>(watts.size())));
  };
  const std::size_t first = index_of(from_unix_ms, false);
  const std::size_t last = std::max(first, index_of(to_unix_ms, true));
  const std::size_t each = (last - first + points - 1) / points;
  PowerPart part{.from_unix_ms = std::llround(t0_ms + static_cast<double>(first) * dt_ms),
                 .step = dt * static_cast<double>(std::max<std::size_t>(each, 1))};
  for (std::size_t at = first; at < last; at += each) {
    add_step(part, watts.data() + at, watts.data() + std::min(at + each, last));
  }
  return part;
}

Json to_json(const PowerPart& part, std::string_view schema, std::string_view source) {
  Json json = Json::object();
  json["schema"] = schema;
  json["source"] = source;
  json["from_unix_ms"] = part.from_unix_ms;
  json["step_s"] = part.step.value();
  json["mean_w"] = numbers(part.mean);
  json["least_w"] = numbers(part.least);
  json["most_w"] = numbers(part.most);
  return json;
}

}  // namespace perjoule

#include "meter/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/text.h"

namespace perjoule {
namespace {

constexpr const char* kUndo = "delete the file to measure uncorrected, and calibrate again";

struct Pair {
  double reading;
  double meter;
};

/// The mean of the course over [from, to], by its samples; none when the span is not wholly
/// covered.
std::optional<double> course_mean(const std::vector<PowerSample>& course, double from, double to) {
  const auto before = [](const PowerSample& sample, double when) { return sample.unix_s < when; };
  auto at = std::lower_bound(course.begin(), course.end(), from, before);
  if (at == course.begin() || at == course.end() || course.back().unix_s < to) return std::nullopt;
  double sum = 0;
  int count = 0;
  for (; at != course.end() && at->unix_s <= to; ++at, ++count) sum += at->watts;
  if (count > 0) return sum / count;
  // The course is the coarser one: its value between two samples.
  const PowerSample& next = *std::lower_bound(course.begin(), course.end(), to, before);
  const PowerSample& last = *(&next - 1);
  const double share = (0.5 * (from + to) - last.unix_s) / (next.unix_s - last.unix_s);
  return last.watts + share * (next.watts - last.watts);
}

std::vector<Pair> pairs_at(const std::vector<PowerSample>& course,
                           const std::vector<PowerSample>& meter, double lag) {
  std::vector<Pair> pairs;
  for (std::size_t i = 1; i < meter.size(); ++i) {
    // A meter's value stands for the time since its last one.
    const auto mean = course_mean(course, meter[i - 1].unix_s - lag, meter[i].unix_s - lag);
    if (mean) pairs.push_back({*mean, meter[i].watts});
  }
  return pairs;
}

struct Line {
  double scale = 1;
  double shift = 0;
  double residual = 0;
  double mean_reading = 0;
  double spread = 0;  ///< sum of squares of the readings about their mean

  /// One sigma of the scale, by the scatter about the line.
  double scale_sigma() const { return residual / std::sqrt(spread); }
};

/// Below a thousandth of the mean, values are one value and its rounding.
bool is_constant(double spread, double mean, double n) {
  return !(spread > n * std::pow(1e-3 * mean, 2));
}

std::optional<Line> fit_line(const std::vector<Pair>& pairs) {
  const double n = static_cast<double>(pairs.size());
  if (pairs.size() < 3) return std::nullopt;
  double x = 0;
  double y = 0;
  for (const Pair& pair : pairs) {
    x += pair.reading / n;
    y += pair.meter / n;
  }
  Line line;
  double cross = 0;
  double meter_spread = 0;
  for (const Pair& pair : pairs) {
    line.spread += std::pow(pair.reading - x, 2);
    meter_spread += std::pow(pair.meter - y, 2);
    cross += (pair.reading - x) * (pair.meter - y);
  }
  if (is_constant(line.spread, x, n) || is_constant(meter_spread, y, n)) return std::nullopt;
  line.scale = cross / line.spread;
  line.shift = y - line.scale * x;
  line.mean_reading = x;
  double square = 0;
  for (const Pair& pair : pairs)
    square += std::pow(pair.meter - line.scale * pair.reading - line.shift, 2);
  line.residual = std::sqrt(square / (n - 2));
  return line;
}

void order(std::vector<PowerSample>& samples) {
  std::sort(samples.begin(), samples.end(),
            [](const PowerSample& a, const PowerSample& b) { return a.unix_s < b.unix_s; });
}

/// A line that rises, by more than the scatter could make of none: anything else is a meter of
/// something else, or another clock.
Outcome check_followed(const std::string& source, const Line& line) {
  // Three sigma: noise alone makes such a slope once in some 700 fits.
  if (line.scale > 3 * line.scale_sigma()) return {};
  return Error::invalid_argument(
      fmt::format("calibrating {}: the meter does not follow the source, its power changes by "
                  "{:.3g} +- {:.2g} W for each watt of the reading",
                  source, line.scale, 2 * line.scale_sigma()),
      "see that the meter measures this device alone, that both files are of the same minutes and "
      "that their times are Unix time");
}

}  // namespace

Result<Calibration> fit_calibration(const std::string& source, std::vector<PowerSample> course,
                                    std::vector<PowerSample> meter, double meter_accuracy,
                                    Seconds most_lag) {
  order(course);
  order(meter);
  constexpr std::size_t kFewest = 8;
  std::optional<Line> best;
  std::vector<Pair> best_pairs;
  double best_lag = 0;
  const int steps = std::min(600, static_cast<int>(most_lag.value() / 0.05));
  for (int i = -steps; i <= steps; ++i) {
    const double lag = i * 0.05;
    std::vector<Pair> pairs = pairs_at(course, meter, lag);
    if (pairs.size() < kFewest) continue;
    const auto line = fit_line(pairs);
    // A smaller lag wins a tie: no evidence is no lag.
    const bool better =
        line && (!best || line->residual < best->residual - 1e-12 ||
                 (line->residual <= best->residual + 1e-12 && std::abs(lag) < std::abs(best_lag)));
    if (!better) continue;
    best = line;
    best_pairs = std::move(pairs);
    best_lag = lag;
  }
  if (!best) {
    return Error::invalid_argument(
        fmt::format("calibrating {}: fewer than {} samples of the meter lie within the course, or "
                    "the power that one of them shows never changed",
                    source, kFewest),
        "record both over the same minutes, with the machine idle and under load");
  }
  PJ_CHECK(check_followed(source, *best));
  const double n = static_cast<double>(best_pairs.size());
  Calibration out;
  out.source = source;
  out.scale = best->scale;
  out.shift = Watts(best->shift);
  out.residual = Watts(best->residual);
  out.scale_sigma =
      std::hypot(best->scale_sigma(), std::abs(best->scale) * meter_accuracy / std::sqrt(3.0));
  out.mean_sigma = Watts(best->residual / std::sqrt(n));
  out.mean_reading = Watts(best->mean_reading);
  out.lag = Seconds(best_lag);
  out.samples = best_pairs.size();
  const auto [low, high] =
      std::minmax_element(best_pairs.begin(), best_pairs.end(),
                          [](const Pair& a, const Pair& b) { return a.reading < b.reading; });
  out.lowest = Watts(low->reading);
  out.highest = Watts(high->reading);
  return out;
}

Outcome check_narrower(const Calibration& calibration, const SourceInfo& source) {
  const double power = calibration.scale * calibration.mean_reading.value();
  const double fitted = std::hypot(calibration.scale_sigma * calibration.mean_reading.value(),
                                   calibration.mean_sigma.value());
  const bool stated = source.gain > 0 || source.offset.value() > 0;
  const double known =
      stated ? std::hypot(source.gain * power, source.offset.value()) / std::sqrt(3.0) : power;
  if (fitted < known) return {};
  const std::string against = stated ? "the source by itself is to " : "the whole of it is ";
  return Error::invalid_argument(
      fmt::format("calibrating {}: at {} the fit is sure to {} (one sigma) and {}{}: it narrows "
                  "nothing and is not kept",
                  calibration.source, to_text(Watts(power), 3), to_text(Watts(fitted), 2), against,
                  to_text(Watts(known), 2)),
      "record longer, over loads that differ more, or use a better meter");
}

Result<std::optional<std::string>> check_stated_gain(const Calibration& calibration,
                                                     const SourceInfo& source) {
  constexpr double kSeveralTimes = 3;
  const double scale = calibration.scale;
  if (!(source.gain > 0) || std::abs(scale - 1) <= kSeveralTimes * source.gain)
    return std::optional<std::string>();
  const std::string found = fmt::format(
      "calibrating {}: the meter shows {:.3g} x reading {:+.3g} W, where the source "
      "states an error of {} at most",
      calibration.source, scale, calibration.shift.value(), percent(source.gain));
  if (scale > 0.5 && scale < 2) {
    return std::optional<std::string>(found +
                                      ": kept, but see that the meter measures this device alone");
  }
  const bool kilo = scale < 0.01;
  const bool milli = scale > 100;
  return Error::invalid_argument(
      found, kilo    ? "the meter's power seems to be in kW: write it in W"
             : milli ? "the meter's power seems to be in mW: write it in W"
                     : "see that the meter measures this device alone, and its power is in W");
}

SourceInfo calibrated(SourceInfo info, const Calibration& calibration) {
  info.scale = calibration.scale;
  info.shift = calibration.shift;
  // Half-widths of which the uncertainty model takes 1/sqrt(3). The slope's error is counted from
  // zero power and not from the fit's mean, which errs on the wide side.
  info.gain = std::sqrt(3.0) * calibration.scale_sigma / std::abs(calibration.scale);
  info.offset = std::sqrt(3.0) * calibration.mean_sigma;
  return info;
}

Json to_json(const Calibration& c) {
  Json json = Json::object();
  json["source"] = c.source;
  json["scale"] = c.scale;
  json["shift_w"] = c.shift.value();
  json["scale_sigma"] = c.scale_sigma;
  json["mean_sigma_w"] = c.mean_sigma.value();
  json["mean_reading_w"] = c.mean_reading.value();
  json["residual_w"] = c.residual.value();
  json["lag_s"] = c.lag.value();
  json["samples"] = static_cast<std::int64_t>(c.samples);
  json["lowest_w"] = c.lowest.value();
  json["highest_w"] = c.highest.value();
  return json;
}

Result<Calibration> calibration_from_json(const Json& json) {
  const auto source = json.string("source");
  const auto scale = json.number("scale");
  const auto shift = json.number("shift_w");
  if (!source || !scale || !shift || !(*scale > 0)) {
    return Error::data_loss("calibration: source, scale or shift_w is missing or makes no sense",
                            kUndo);
  }
  Calibration c;
  c.source = *source;
  c.scale = *scale;
  c.shift = Watts(*shift);
  c.scale_sigma = json.number("scale_sigma").value_or(0);
  c.mean_sigma = Watts(json.number("mean_sigma_w").value_or(0));
  c.mean_reading = Watts(json.number("mean_reading_w").value_or(0));
  c.residual = Watts(json.number("residual_w").value_or(0));
  c.lag = Seconds(json.number("lag_s").value_or(0));
  c.samples =
      static_cast<std::size_t>(std::max<std::int64_t>(0, json.integer("samples").value_or(0)));
  c.lowest = Watts(json.number("lowest_w").value_or(0));
  c.highest = Watts(json.number("highest_w").value_or(0));
  return c;
}

std::string calibration_path() { return state_folder() + "/calibration.json"; }

Result<std::vector<Calibration>> load_calibrations(const std::string& path) {
  std::vector<Calibration> all;
  if (!path_exists(path)) return all;
  PJ_TRY(const std::string text, read_file(path));
  const auto json = parse_json(text);
  if (!json) {
    Error error = json.error();
    error.message = path + ": " + error.message;
    error.code = ErrorCode::kDataLoss;  // ours, not the user's words
    error.remedy = kUndo;
    return tl::unexpected<Error>(std::move(error));
  }
  const Json* entries = json->find("calibrations");
  if (entries == nullptr || entries->as_array() == nullptr)
    return Error::data_loss(path + ": no list of calibrations", kUndo);
  for (const Json& entry : *entries->as_array()) {
    auto one = calibration_from_json(entry);
    if (!one) return fail(one, path);
    all.push_back(std::move(*one));
  }
  return all;
}

Outcome save_calibration(const std::string& path, const Calibration& calibration) {
  PJ_TRY(std::vector<Calibration> all, load_calibrations(path));
  std::erase_if(all, [&](const Calibration& known) { return known.source == calibration.source; });
  all.push_back(calibration);
  Json json = Json::object();
  json["schema"] = "perjoule.calibration.v1";
  json["calibrations"] = Json::array();
  for (const Calibration& one : all) json["calibrations"].push_back(to_json(one));
  if (const std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0) {
    PJ_CHECK(make_folders(path.substr(0, slash)));
  }
  return write_file_atomically(path, json.dump(2) + "\n");
}

}  // namespace perjoule

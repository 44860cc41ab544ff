#include "twin/serve_timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/csv.h"
#include "base/text.h"

namespace perjoule {
extern const std::string_view kTwinServingCsv;
extern const std::string_view kTwinServingModelsCsv;
}  // namespace perjoule

namespace perjoule::twin {
namespace {

constexpr double kBytesPerParameter = 2;
constexpr double kMemoryShare = 0.9;
// A step has some work that is not reading weights, however little was measured of it.
constexpr double kMostReading = 0.95;

Result<double> positive(const CsvTable& table, std::size_t row, std::size_t column) {
  PJ_TRY(const double value, table.number(row, column));
  if (value > 0) return value;
  return Error::invalid_argument(table.name() + ": line " + std::to_string(table.line(row)) +
                                 ": not above 0: " + table.columns()[column]);
}

/// The models without their points, and so without a GPU.
Result<std::vector<ServeModel>> parse_models(std::string_view text) {
  PJ_TRY(const CsvTable table, parse_csv(text, "twin_serving_models.csv"));
  PJ_TRY(const std::size_t key, table.require_column("model"));
  PJ_TRY(const std::size_t name, table.require_column("name"));
  PJ_TRY(const std::size_t parameters, table.require_column("params_billions"));
  PJ_TRY(const std::size_t cache, table.require_column("kv_bytes_per_token"));
  PJ_TRY(const std::size_t context, table.require_column("context_tokens"));
  PJ_TRY(const std::size_t prefill, table.require_column("prefill_us_per_token"));
  PJ_TRY(const std::size_t origin, table.require_column("prefill_origin"));
  std::vector<ServeModel> models;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    ServeModel model;
    model.key = table.cell(row, key);
    model.name = table.cell(row, name);
    PJ_TRY(const double billions, positive(table, row, parameters));
    model.weight_bytes = billions * 1e9 * kBytesPerParameter;
    PJ_TRY(model.kv_bytes_per_token, positive(table, row, cache));
    PJ_TRY(const double tokens, positive(table, row, context));
    model.context_tokens = static_cast<int>(std::min(tokens, 1e9));
    PJ_TRY(const double microseconds, positive(table, row, prefill));
    model.prefill_per_token = Seconds(microseconds * 1e-6);
    model.prefill_origin = table.cell(row, origin);
    models.push_back(std::move(model));
  }
  return models;
}

ServeModel* find_on(std::vector<ServeModel>& models, std::string_view key, std::string_view gpu) {
  for (ServeModel& model : models) {
    if (model.key == key && model.gpu == gpu) return &model;
  }
  return nullptr;
}

/// On the straight line through two points.
double on_line(double x, double x0, double y0, double x1, double y1) {
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

}  // namespace

Result<std::vector<ServeModel>> parse_serve_models(std::string_view model_text,
                                                   std::string_view point_text) {
  PJ_TRY(std::vector<ServeModel> known, parse_models(model_text));
  PJ_TRY(const CsvTable table, parse_csv(point_text, "twin_serving.csv"));
  PJ_TRY(const std::size_t gpu, table.require_column("gpu"));
  PJ_TRY(const std::size_t key, table.require_column("model"));
  PJ_TRY(const std::size_t batch, table.require_column("batch"));
  PJ_TRY(const std::size_t itl, table.require_column("itl_ms"));
  PJ_TRY(const std::size_t power, table.require_column("power_w"));
  std::vector<ServeModel> models;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string where = table.name() + ": line " + std::to_string(table.line(row)) + ": ";
    ServeModel* model = find_on(models, table.cell(row, key), table.cell(row, gpu));
    if (model == nullptr) {
      const ServeModel* const found = find_on(known, table.cell(row, key), "");
      if (found == nullptr) {
        return Error::invalid_argument(where + "no such model in twin_serving_models.csv: " +
                                       std::string(table.cell(row, key)));
      }
      model = &models.emplace_back(*found);
      model->gpu = table.cell(row, gpu);
    }
    DecodePoint point;
    PJ_TRY(point.batch, positive(table, row, batch));
    PJ_TRY(const double milliseconds, positive(table, row, itl));
    PJ_TRY(const double watts, positive(table, row, power));
    point.itl = Seconds(milliseconds * 1e-3);
    point.power = Watts(watts);
    if (!model->decode.empty() && model->decode.back().batch >= point.batch) {
      return Error::invalid_argument(where + "batch sizes of a model must rise");
    }
    model->decode.push_back(point);
  }
  for (const ServeModel& model : models) {
    if (model.decode.size() < 2) {
      return Error::invalid_argument(table.name() + ": fewer than two batch sizes of " + model.key);
    }
  }
  return models;
}

const std::vector<ServeModel>& shipped_serve_models() {
  static const std::vector<ServeModel> models =
      parse_serve_models(kTwinServingModelsCsv, kTwinServingCsv)
          .value_or(std::vector<ServeModel>());
  return models;
}

Result<const ServeModel*> find_serve_model(std::string_view word, std::string_view gpu) {
  std::string on_this;
  std::string gpus;
  for (const ServeModel& model : shipped_serve_models()) {
    if (gpus.find(model.gpu) == std::string::npos) gpus += " " + model.gpu;
    if (!equals_ignoring_case(model.gpu, gpu)) continue;
    if (equals_ignoring_case(model.key, word) || equals_ignoring_case(model.name, word)) {
      return &model;
    }
    on_this += (on_this.empty() ? "" : ", ") + model.key;
  }
  if (on_this.empty()) {
    return Error::not_found("no model was measured on this GPU: " + std::string(gpu),
                            "there are tables for" + gpus);
  }
  return Error::not_found("no such model on " + std::string(gpu) + ": " + std::string(word),
                          "there are " + on_this);
}

StepCost decode_cost(const ServeModel& model, int batch) {
  const std::vector<DecodePoint>& points = model.decode;
  const double x = std::max(batch, 1);
  // The segment that x lies in, or the one at the end beyond which it lies.
  std::size_t next = 1;
  while (next + 1 < points.size() && points[next].batch < x) ++next;
  const DecodePoint& a = points[next - 1];
  const DecodePoint& b = points[next];
  const auto line = [&](double at, double from, double to) {
    return on_line(at, a.batch, from, b.batch, to);
  };
  const double power_at = std::min(x, points.back().batch);
  return {Seconds(line(x, a.itl.value(), b.itl.value())),
          Watts(line(power_at, a.power.value(), b.power.value()))};
}

StepCost prefill_cost(const ServeModel& model, int tokens) {
  Watts highest;
  for (const DecodePoint& point : model.decode) highest = std::max(highest, point.power);
  return {std::max(model.prefill_per_token * std::max(tokens, 1), decode_cost(model, 1).time),
          highest};
}

Phase phase_of(const StepCost& cost, const ServeModel& model, const Silicon& chip) {
  const double time = cost.time.value();
  const double reading = std::min(model.weight_bytes / chip.bytes_per_s, kMostReading * time);
  Phase phase;
  phase.bytes = reading * chip.bytes_per_s;
  phase.flop = (time - reading) * chip.flop_per_s;
  phase.overlap = Overlap::kNone;
  // The switching activity is what is left of the power: power is linear in it.
  phase.activity = 0;
  const double still = active_power(chip, phase, chip.clock_max_mhz, chip.reference_c);
  phase.activity = 1;
  const double full = active_power(chip, phase, chip.clock_max_mhz, chip.reference_c);
  phase.activity = std::max(0.0, (cost.power.value() - still) / (full - still));
  return phase;
}

int kv_blocks_of(const ServeModel& model, std::uint64_t memory_bytes, int block_tokens) {
  const double left = static_cast<double>(memory_bytes) * kMemoryShare - model.weight_bytes;
  const double blocks = std::floor(left / (model.kv_bytes_per_token * block_tokens));
  return static_cast<int>(std::clamp(blocks, 0.0, 1e9));
}

}  // namespace perjoule::twin

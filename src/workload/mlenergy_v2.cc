#include "workload/mlenergy_v2.h"

#include <fmt/format.h>

#include <cmath>

namespace perjoule {
namespace {

/// One row's cells by column; the first that is wrong is the error.
class Row {
 public:
  Row(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  std::string text(std::string_view name) {
    const auto column = find(name);
    return column ? std::string(table_.cell(row_, *column)) : std::string();
  }
  double number(std::string_view name) {
    const auto column = find(name);
    if (!column) return 0;
    const Result<double> value = table_.number(row_, *column);
    if (value) return *value;
    if (outcome_) outcome_ = tl::unexpected<Error>(value.error());
    return 0;
  }
  /// Empty: none.
  std::optional<std::int64_t> count(std::string_view name) {
    const auto column = find(name);
    if (!column || table_.cell(row_, *column).empty()) return std::nullopt;
    const double value = number(name);
    constexpr double kMost = 1e9;  // the product of two is still a count
    if (value == std::floor(value) && std::abs(value) < kMost)
      return static_cast<std::int64_t>(value);
    if (outcome_) {
      outcome_ = Error::invalid_argument(fmt::format("{}: line {}: '{}' is not a whole number",
                                                     table_.name(), table_.line(row_), name));
    }
    return std::nullopt;
  }
  Outcome take() && { return std::move(outcome_); }

 private:
  std::optional<std::size_t> find(std::string_view name) {
    const auto column = table_.column(name);
    if (!column && outcome_) outcome_ = fail(table_.require_column(name));
    return column;
  }

  const CsvTable& table_;
  std::size_t row_;
  Outcome outcome_;
};

bool has_columns(const CsvTable& table, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!table.column(name)) return false;
  }
  return true;
}

bool is_llm(const CsvTable& table) {
  return has_columns(table, {"task", "model", "gpu", "max_bs", "energy_per_req_j", "avg_tpot_s"});
}

bool is_diffusion(const CsvTable& table) {
  return has_columns(
      table, {"task", "model", "gpu", "batch_size", "energy_per_output_j", "batch_latency_s"});
}

Energy published(double joules) { return published_energy(Joules(joules), kMlEnergyV2); }

void read_text(Row& row, BenchResult& r) {
  r.kind = BenchKind::kText;
  if (row.text("family") == "mllm_text_generation" && r.task == "chat") r.task = "visual-chat";
  r.parallel.tensor = row.count("tp").value_or(1);
  r.parallel.pipeline = row.count("pp").value_or(1);
  r.gpus.count = *r.parallel.tensor * *r.parallel.pipeline;
  r.batch.max_num_seqs = row.count("max_bs");
  r.batch.mean = row.number("avg_bs");
  const double joules = row.number("energy_per_req_j");
  const double length = row.number("avg_output_tokens");
  const double rate = row.number("token_tput_tok_s");
  r.energy.response = published(joules);
  r.lengths.mean_output = length;
  r.rates.output_tokens = rate;
  r.latency.tpot.mean = Seconds(row.number("avg_tpot_s"));
  if (!(length > 0)) return;
  r.energy.output_token = published(joules / length);
  r.power = Watts(joules / length * rate);
}

void read_media(Row& row, BenchResult& r) {
  const bool video = r.task != "text-to-image";
  r.kind = video ? BenchKind::kVideo : BenchKind::kImage;
  r.batch.size = row.count("batch_size");
  r.media.steps = row.count("denoising_steps");
  r.media.frames = row.count("frames");
  const double joules = row.number("energy_per_output_j");
  (video ? r.energy.video : r.energy.image) = published(joules);
  const double latency = row.number("batch_latency_s");
  r.latency.batch = Seconds(latency);
  if (!(latency > 0) || !r.batch.size) return;
  r.rates.items = static_cast<double>(*r.batch.size) / latency;
  r.power = Watts(joules * *r.rates.items);
}

}  // namespace

bool is_mlenergy_v2(const CsvTable& table) { return is_llm(table) || is_diffusion(table); }

Result<std::vector<BenchResult>> read_mlenergy_v2(const CsvTable& table) {
  std::vector<BenchResult> results;
  const bool text = is_llm(table);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    Row row(table, i);
    BenchResult r;
    r.benchmark = kMlEnergyV2;
    r.origin = {table.name(), table.line(i)};
    r.task = row.text("task");
    r.model.id = row.text("model");
    r.gpus.name = row.text("gpu");
    r.gpus.model = short_gpu_name(r.gpus.name);
    text ? read_text(row, r) : read_media(row, r);
    PJ_CHECK(std::move(row).take());
    if (r.model.id.empty() || r.task.empty() || r.gpus.count < 1) {
      return Error::invalid_argument(
          fmt::format("{}: line {}: task, model or degree of parallelism is missing", table.name(),
                      table.line(i)));
    }
    results.push_back(std::move(r));
  }
  return results;
}

}  // namespace perjoule

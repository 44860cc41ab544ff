#include "workload/mlenergy_v3.h"

#include <fmt/format.h>

#include <limits>

#include "workload/json_fields.h"

namespace perjoule {
namespace {

std::optional<Energy> published(std::optional<double> joules) {
  if (!joules) return std::nullopt;
  return published_energy(Joules(*joules), kMlEnergyV3);
}

/// The model as a row or a whole document names it.
void read_model(JsonFields& fields, BenchModel& model) {
  if (std::string id = fields.text("model_id"); !id.empty()) model.id = std::move(id);
  if (std::string name = fields.text("nickname"); !name.empty()) model.nickname = std::move(name);
  // At the head of a task of images it is the word "diffusion", which is a kind and no
  // architecture.
  if (std::string kind = fields.text("architecture"); !kind.empty() && kind != "diffusion")
    model.architecture = std::move(kind);
  if (std::string type = fields.text("weight_precision"); !type.empty())
    model.precision = std::move(type);
  if (const auto count = fields.number("total_params_billions")) model.total_billions = count;
  if (const auto count = fields.number("activated_params_billions"))
    model.activated_billions = count;
}

void read_parallel(JsonFields& fields, BenchParallel& parallel) {
  if (const auto degree = fields.integer("tensor_parallel")) parallel.tensor = degree;
  if (const auto degree = fields.integer("expert_parallel")) parallel.expert = degree;
  if (const auto degree = fields.integer("data_parallel")) parallel.data = degree;
  if (const auto degree = fields.integer("ulysses_degree")) parallel.ulysses = degree;
  if (const auto degree = fields.integer("ring_degree")) parallel.ring = degree;
}

void read_lengths(const std::string& where, JsonFields& fields, BenchLengths& lengths) {
  const Json* found = fields.object("output_length_distribution");
  if (found == nullptr) return;
  JsonFields inner(*found, where + ", output_length_distribution");
  LengthHistogram histogram;
  const auto take = [&](std::string_view name, std::vector<double>& numbers) {
    const Json::Array* array = inner.array(name);
    if (array == nullptr) return;
    for (const Json& element : *array) {
      const auto number = element.as_number();
      if (!number) return inner.refuse(name, "an array of numbers");
      numbers.push_back(*number);
    }
  };
  take("bins", histogram.edges);
  take("counts", histogram.counts);
  if (histogram.edges.size() != histogram.counts.size() + 1)
    inner.refuse("bins", "one longer than 'counts'");
  if (!inner.outcome()) return fields.refuse("output_length_distribution", "a histogram");
  lengths.outputs = std::move(histogram);
}

void read_text(const std::string& where, JsonFields& fields, BenchResult& r) {
  r.kind = BenchKind::kText;
  r.batch.max_num_seqs = fields.integer("max_num_seqs");
  r.batch.mean = fields.number("avg_batch_size");
  r.energy.output_token = published(fields.number("energy_per_token_joules"));
  r.energy.response = published(fields.number("energy_per_request_joules"));
  r.lengths.mean_output = fields.number("avg_output_len");
  r.rates.output_tokens = fields.number("output_throughput_tokens_per_sec");
  constexpr double kMs = 1e-3;
  r.latency.itl.p50 = fields.number<Seconds>("median_itl_ms", kMs);
  r.latency.itl.p90 = fields.number<Seconds>("p90_itl_ms", kMs);
  r.latency.itl.p95 = fields.number<Seconds>("p95_itl_ms", kMs);
  r.latency.itl.p99 = fields.number<Seconds>("p99_itl_ms", kMs);
  read_lengths(where, fields, r.lengths);
  // Every published run issues all requests at once.
  r.load.asked_per_s = std::numeric_limits<double>::infinity();
}

void read_media(JsonFields& fields, BenchResult& r) {
  const bool video = r.kind == BenchKind::kVideo;
  r.batch.size = fields.integer("batch_size");
  r.latency.batch = fields.number<Seconds>("batch_latency_s");
  (video ? r.energy.video : r.energy.image) =
      published(fields.number(video ? "energy_per_video_joules" : "energy_per_image_joules"));
  r.rates.items = fields.number(video ? "throughput_videos_per_sec" : "throughput_images_per_sec");
  r.media.steps = fields.integer("inference_steps");
  r.media.height = fields.integer(video ? "video_height" : "image_height");
  r.media.width = fields.integer(video ? "video_width" : "image_width");
  r.media.frames = fields.integer("num_frames");
  r.media.frames_per_s = fields.number("fps");
}

Result<BenchResult> read_row(const Json& row, const BenchResult& head, std::size_t number) {
  BenchResult r = head;
  r.origin.row = number;
  const std::string where = text_of(r.origin);
  JsonFields fields(row, where);
  PJ_CHECK(fields.outcome());
  read_model(fields, r.model);
  if (r.model.id.empty()) r.model.id = fields.needed_text("model_id");
  r.gpus.name = fields.needed_text("gpu_model");
  r.gpus.model = short_gpu_name(r.gpus.name);
  r.gpus.count = fields.needed_integer("num_gpus");
  if (r.gpus.count < 1) fields.refuse("num_gpus", "a count above 0");
  read_parallel(fields, r.parallel);
  if (const Json* inner = fields.object("parallelization")) {
    JsonFields degrees(*inner, where + ", parallelization");
    read_parallel(degrees, r.parallel);
    PJ_CHECK(degrees.outcome());
  }
  r.power = fields.number<Watts>("avg_power_watts");
  r.quality.accuracy = fields.number("accuracy");
  if (row.find("energy_per_image_joules") != nullptr) r.kind = BenchKind::kImage;
  if (row.find("energy_per_video_joules") != nullptr) r.kind = BenchKind::kVideo;
  if (r.kind == BenchKind::kText) {
    read_text(where, fields, r);
    (void)fields.needed_number("energy_per_token_joules");
  } else {
    read_media(fields, r);
    (void)fields.needed_number("batch_latency_s");
  }
  PJ_CHECK(fields.outcome());
  return r;
}

}  // namespace

MlEnergyV3 mlenergy_v3_kind(const Json& document) {
  const Json* configurations = document.find("configurations");
  if (configurations != nullptr && configurations->is_array() && document.find("task") != nullptr)
    return document.find("model_id") != nullptr ? MlEnergyV3::kModel : MlEnergyV3::kTask;
  const Json* models = document.find("models");
  if (models != nullptr && models->is_object() && document.find("architectures") != nullptr)
    return MlEnergyV3::kIndex;
  return MlEnergyV3::kNone;
}

Result<std::vector<BenchResult>> read_mlenergy_v3(const Json& document, std::string_view name) {
  JsonFields fields(document, std::string(name));
  BenchResult head;
  head.benchmark = kMlEnergyV3;
  head.origin.file = name;
  head.task = fields.needed_text("task");
  read_model(fields, head.model);
  PJ_CHECK(fields.outcome());
  std::vector<BenchResult> results;
  for (const Json& row : *document.find("configurations")->as_array()) {
    PJ_TRY(BenchResult result, read_row(row, head, results.size() + 1));
    results.push_back(std::move(result));
  }
  return results;
}

Result<std::vector<BenchModel>> read_mlenergy_v3_index(const Json& document,
                                                       std::string_view name) {
  std::vector<BenchModel> models;
  for (const auto& [id, json] : *document.find("models")->as_object()) {
    BenchModel model{id};
    JsonFields fields(json, fmt::format("{}: model '{}'", name, id));
    PJ_CHECK(fields.outcome());
    read_model(fields, model);
    PJ_CHECK(fields.outcome());
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace perjoule

#include "workload/trtllm_bench.h"

#include "workload/json_fields.h"

namespace perjoule {
namespace {

/// A group of the report; an empty object where it is absent.
class Group {
 public:
  Group(const Json& document, std::string_view member, std::string_view name)
      : fields_(object_or_empty(document.find(member)),
                std::string(name) + ": '" + std::string(member) + "'") {}

  JsonFields* operator->() { return &fields_; }
  JsonFields& operator*() { return fields_; }

 private:
  static const Json& object_or_empty(const Json* found) {
    static const Json kEmpty = Json::object();
    return found == nullptr || found->is_null() ? kEmpty : *found;
  }

  JsonFields fields_;
};

Result<LatencySummary> read_summary(JsonFields& group, std::string_view member,
                                    std::string_view name) {
  const Json* found = group.object(member);
  if (found == nullptr) return LatencySummary{};
  constexpr double kMs = 1e-3;
  JsonFields fields(*found, std::string(name) + ": '" + std::string(member) + "'");
  LatencySummary summary;
  summary.mean = fields.latency("average", kMs);
  summary.p50 = fields.latency("p50", kMs);
  summary.p90 = fields.latency("p90", kMs);
  summary.p95 = fields.latency("p95", kMs);
  summary.p99 = fields.latency("p99", kMs);
  PJ_CHECK(fields.outcome());
  return summary;
}

void read_engine(Group& engine, BenchResult& r) {
  r.engine = {"TensorRT-LLM", engine->text("version")};
  r.model.id = engine->needed_text("model");
  r.model.precision = engine->text("quantization");
  if (r.model.precision.empty()) r.model.precision = engine->text("dtype");
}

void read_world(Group& world, BenchResult& r) {
  r.parallel.tensor = world->integer("tp_size");
  r.parallel.pipeline = world->integer("pp_size");
  r.parallel.expert = world->integer("ep_size");
  r.batch.max_num_seqs = world->integer("max_batch_size");
  r.gpus.count = world->integer("world_size").value_or(1);
  if (r.gpus.count < 1) world->refuse("world_size", "a count above 0");
}

void read_requests(Group& requests, BenchResult& r) {
  r.load.requests = requests->integer("num_requests");
  r.batch.mean = requests->number("avg_num_concurrent_requests");
  r.lengths.mean_input = requests->number("avg_input_length");
  r.lengths.mean_output = requests->number("avg_output_length");
  if (!r.load.requests) return;
  const auto count = static_cast<double>(*r.load.requests);
  if (!(count > 0)) {
    r.validity.emplace_back("no request was completed");
    return;
  }
  r.totals.responses = count;
  if (r.lengths.mean_output) r.totals.output_tokens = *r.lengths.mean_output * count;
  if (r.lengths.mean_input) r.totals.input_tokens = *r.lengths.mean_input * count;
}

}  // namespace

bool is_trtllm_bench(const Json& document) {
  const Json* performance = document.find("performance");
  return performance != nullptr && performance->find("request_throughput_req_s") != nullptr &&
         document.find("request_info") != nullptr && document.find("engine") != nullptr;
}

Result<BenchResult> read_trtllm_bench(const Json& document, std::string_view name) {
  Group engine(document, "engine", name);
  Group machine(document, "machine", name);
  Group world(document, "world_info", name);
  Group requests(document, "request_info", name);
  Group performance(document, "performance", name);
  Group streaming(document, "streaming_metrics", name);
  BenchResult r;
  r.benchmark = kTrtLlmBench;
  r.origin.file = name;
  r.task = "not stated";
  read_engine(engine, r);
  r.gpus.name = machine->text("name");
  r.gpus.model = short_gpu_name(r.gpus.name);
  read_world(world, r);
  read_requests(requests, r);
  r.load.delivered_per_s = performance->number("request_throughput_req_s");
  r.rates.responses = r.load.delivered_per_s;
  r.rates.output_tokens = performance->number("system_output_throughput_tok_s");
  r.rates.total_tokens = performance->number("system_total_throughput_tok_s");
  r.totals.duration = performance->number<Seconds>("total_latency_ms", 1e-3);
  PJ_TRY(r.latency.e2el, read_summary(*performance, "request_latency_percentiles_ms", name));
  PJ_TRY(r.latency.ttft, read_summary(*streaming, "ttft_percentiles", name));
  PJ_TRY(r.latency.tpot, read_summary(*streaming, "tpot_percentiles", name));
  for (Group* group : {&engine, &machine, &world, &requests, &performance, &streaming})
    PJ_CHECK((*group)->outcome());
  return r;
}

}  // namespace perjoule

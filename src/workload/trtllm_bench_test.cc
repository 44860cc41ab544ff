#include "workload/trtllm_bench.h"

#include <gtest/gtest.h>

#include "workload/bench_files.h"

namespace perjoule {
namespace {

std::string report(const std::string& more = "", const std::string& requests = "100") {
  return R"({"engine": {"model": "org/a", "model_path": "/m", "version": "1.0.0", "backend":
    "Pytorch", "dtype": "bfloat16", "kv_cache_dtype": null, "quantization": "FP8"}, "machine": null,
    "world_info": {"tp_size": 2, "pp_size": 1, "ep_size": null, "world_size": 2,
    "max_batch_size": 256}, "request_info": {"num_requests": )" +
         requests + R"(, "avg_num_concurrent_requests": 63.5, "avg_input_length": 128.0,
    "avg_output_length": 64.5}, "performance": {"total_latency_ms": 5000.0,
    "avg_request_latency_ms": 900.0, "request_throughput_req_s": 20.0,
    "system_output_throughput_tok_s": 1290.0, "system_total_throughput_tok_s": 3850.0,
    "request_latency_percentiles_ms": {"p50": 850.0, "p99": 1800.0, "average": 900.0,
    "minimum": 1.0}})" +
         more + "}";
}

TEST(TrtLlmBench, AReport) {
  const auto files = parse_bench_text(
      report(R"(, "streaming_metrics": {"ttft_percentiles": {"p50": 30.0, "average": 32.0},
                 "tpot_percentiles": {"p50": 12.0}})"),
      "t.json");
  ASSERT_TRUE(files) << files.error().text();
  const BenchResult& r = files->results[0];
  EXPECT_EQ(r.benchmark, kTrtLlmBench);
  EXPECT_EQ(r.model.id, "org/a");
  EXPECT_EQ(r.model.precision, "FP8");
  EXPECT_EQ(r.engine.version, "1.0.0");
  EXPECT_EQ(r.gpus.count, 2);
  EXPECT_TRUE(r.gpus.model.empty());
  EXPECT_EQ(r.parallel.tensor, 2);
  EXPECT_FALSE(r.parallel.expert);
  EXPECT_DOUBLE_EQ(*r.totals.output_tokens, 6450);
  EXPECT_DOUBLE_EQ(*r.totals.input_tokens, 12800);
  EXPECT_EQ(r.totals.responses, 100);
  // How many of them failed is not said.
  EXPECT_FALSE(r.load.completed);
  EXPECT_EQ(r.totals.duration, Seconds(5));
  EXPECT_FALSE(r.window);
  EXPECT_DOUBLE_EQ(r.latency.e2el.p99->value(), 1.8);
  EXPECT_DOUBLE_EQ(r.latency.ttft.mean->value(), 0.032);
  EXPECT_DOUBLE_EQ(r.latency.tpot.p50->value(), 0.012);
  EXPECT_TRUE(r.validity.empty());
}

TEST(TrtLlmBench, WithoutStreamingThereAreNoTokenLatencies) {
  std::string text = report();
  text.replace(text.find("\"machine\": null"), 15,
               R"("machine": {"name": "NVIDIA H100 80GB HBM3", "memory.total": 79.1})");
  const auto files = parse_bench_text(text, "t.json");
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->results[0].gpus.model, "H100");
  EXPECT_FALSE(files->results[0].latency.ttft.mean);
  EXPECT_FALSE(files->results[0].latency.tpot.mean);
}

TEST(TrtLlmBench, ARunOfNoRequests) {
  const auto files = parse_bench_text(report("", "0"), "t.json");
  ASSERT_TRUE(files);
  EXPECT_FALSE(files->results[0].totals.responses);
  EXPECT_EQ(files->results[0].validity[0], "no request was completed");
}

TEST(TrtLlmBench, MalformedMembersAreNamed) {
  const auto refused = [](std::string text, const std::string& from, const std::string& to,
                          const std::string& member) {
    text.replace(text.find(from), from.size(), to);
    const auto files = parse_bench_text(text, "t.json");
    ASSERT_FALSE(files) << member;
    EXPECT_NE(files.error().message.find("t.json"), std::string::npos);
    EXPECT_NE(files.error().message.find(member), std::string::npos) << files.error().message;
  };
  refused(report(), R"("model": "org/a")", R"("model": 3)", "model");
  refused(report(), R"("world_size": 2)", R"("world_size": 0)", "world_size");
  refused(report(), R"("p50": 850.0)", R"("p50": "fast")", "p50");
  refused(report(), R"("machine": null)", R"("machine": 3)", "machine");
}

}  // namespace
}  // namespace perjoule

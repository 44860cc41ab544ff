#include "workload/bench_result.h"

#include <gtest/gtest.h>

#include <limits>

#include "workload/bench_result_json.h"

namespace perjoule {
namespace {

/// A result with something in every group.
BenchResult full() {
  BenchResult r;
  r.benchmark = "perjoule";
  r.task = "chat";
  r.model = {"org/model", "Model", "MoE", "fp8", 30.5, 3.3};
  r.engine = {"vLLM", "0.11.1"};
  r.gpus = {"H100", "NVIDIA H100 80GB HBM3", 2};
  r.parallel.tensor = 2;
  r.batch = {128, std::nullopt, 127.5};
  r.lengths = {512.0, 301.25, LengthHistogram{{0, 10, 20}, {3, 4}}};
  r.load = {std::numeric_limits<double>::infinity(), 1.0, 64, 3.5, 1024, 1023};
  Energy energy = published_energy(Joules(0.07), "gpu:0");
  energy.status = Status::kMeasured;
  energy.random = Joules(0.001);
  energy.systematic = {{"gpu:0/gain", Joules(0.002)}};
  r.energy.output_token = energy;
  r.energy.response = published_energy(Joules(21), "other");
  r.power = Watts(650);
  r.rates.output_tokens = 9000;
  r.latency.itl = {Seconds(0.04), Seconds(0.038), Seconds(0.05), Seconds(0.06), Seconds(0.1)};
  r.latency.ttft.p99 = Seconds(1.5);
  r.quality = {0.71, "exact match"};
  r.evidence.window = Seconds(45);
  r.evidence.engine_errors = 0;
  r.origin = {"a.json", 7};
  r.validity = {"too short"};
  return r;
}

TEST(BenchResult, JsonLosesNothing) {
  const Json written = to_json(full());
  const auto read = bench_result_from_json(written, "x.json");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_json(*read).dump(), written.dump());
  EXPECT_TRUE(std::isinf(*read->load.asked_per_s));
  EXPECT_EQ(read->energy.output_token->systematic.size(), 1U);
  EXPECT_EQ(read->origin.row, 7U);
}

TEST(BenchResult, WhatIsAbsentStaysAbsent) {
  BenchResult r;
  r.task = "chat";
  r.model.id = "m";
  const Json json = to_json(r);
  EXPECT_EQ(json.find("energy"), nullptr);
  EXPECT_EQ(json.find("parallel"), nullptr);
  const auto read = bench_result_from_json(json, "x.json");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->power);
  EXPECT_EQ(read->origin.file, "x.json");
  EXPECT_EQ(unit_energy(*read), nullptr);
}

TEST(BenchResult, AnUncertaintyThatNobodyStatedIsNotZero) {
  const Json json = to_json(full());
  EXPECT_TRUE(json.find("energy")->find("response")->find("expanded_j")->is_null());
  EXPECT_TRUE(json.find("energy")->find("output_token")->number("expanded_j"));
}

TEST(BenchResult, WrongKindsAreNamed) {
  const auto refused = [](const std::string& text, const std::string& wanted) {
    const auto read = bench_result_from_json(*parse_json(text), "bad.json");
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find("bad.json"), std::string::npos) << read.error().text();
    EXPECT_NE(read.error().text().find(wanted), std::string::npos) << read.error().text();
  };
  const std::string head = R"({"schema": "perjoule.bench-result.v1", "task": "chat", )";
  refused(head + R"("model": {"id": 3}})", "model.id");
  refused(head + R"("model": 3})", "model");
  refused(head + R"("kind": "text"})", "model.id");
  refused(head + R"("kind": "sound", "model": {"id": "m"}})", "sound");
  refused(head + R"("model": {"id": "m"}, "energy": {"response": {"joules": 1}}})",
          "energy.response");
  refused(head + R"("model": {"id": "m"}, "gpus": {"count": 0}})", "gpus.count");
  refused(head + R"("model": {"id": "m"}, "lengths": {"outputs": {"edges": [1], "counts": [1]}}})",
          "edge");
  refused(R"({"schema": "perjoule.bench-result.v9"})", "v9");
}

TEST(BenchResult, GpusHaveOneName) {
  EXPECT_EQ(short_gpu_name("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(short_gpu_name("H100"), "H100");
  EXPECT_EQ(short_gpu_name("Some other chip"), "Some other chip");
}

TEST(BenchResultJson, AWindowIsTwoMomentsInOrder) {
  const auto with = [](const std::string& window) {
    const auto json = parse_json(
        R"({"schema": "perjoule.bench-result.v1", "task": "t", "model": {"id": "m"}, "window": )" +
        window + "}");
    return bench_result_from_json(*json, "w.json");
  };
  const auto known =
      with(R"({"begin_unix_ns": 1759842985500000001, "end_unix_ns": 1759842985500000002})");
  ASSERT_TRUE(known) << known.error().text();
  EXPECT_EQ(known->window->begin_unix_ns, 1'759'842'985'500'000'001);
  EXPECT_FALSE(known->window->known_within);
  for (const char* wrong :
       {"{}", R"({"begin_unix_ns": 5})", R"({"begin_unix_ns": 5, "end_unix_ns": 5})",
        R"({"begin_unix_ns": -5, "end_unix_ns": 5})", R"({"begin_unix_ns": 5.5, "end_unix_ns": 6})",
        R"({"begin_unix_ns": 5, "end_unix_ns": 9223372036854775807})", "3"}) {
    const auto refused = with(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find("window"), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace perjoule

#include "twin/serve_timing.h"

#include <gtest/gtest.h>

#include "twin/gpu_model.h"

namespace perjoule::twin {
namespace {

const ServeModel& llama() { return **find_serve_model("llama-3.1-8b", "h100"); }
const GpuModel& h100() { return **find_gpu_model("h100"); }

TEST(ServeTiming, ShippedModelsAreOfKnownDevicesAndSaySynthetic) {
  EXPECT_EQ(shipped_serve_models().size(), 4u);
  for (const ServeModel& model : shipped_serve_models()) {
    EXPECT_TRUE(find_gpu_model(model.gpu)) << model.gpu;
    EXPECT_GE(model.decode.size(), 3u) << model.key;
    EXPECT_EQ(model.prefill_origin, "synthetic") << model.key;
  }
}

TEST(ServeTiming, AMeasuredBatchSizeIsItself) {
  for (const ServeModel& model : shipped_serve_models()) {
    for (const DecodePoint& point : model.decode) {
      // Mean batch sizes are no whole numbers: half a request away at most.
      const StepCost cost = decode_cost(model, static_cast<int>(point.batch + 0.5));
      EXPECT_NEAR(cost.time.value(), point.itl.value(), 0.01 * point.itl.value()) << model.key;
      EXPECT_NEAR(cost.power.value(), point.power.value(), 2) << model.key;
    }
  }
}

// By hand: from (31.91, 8.907 ms, 559.7 W) to (63.92, 11.500 ms, 610.3 W) at 48.
TEST(ServeTiming, BetweenTwoBatchSizesLiesTheLine) {
  const StepCost cost = decode_cost(llama(), 48);
  EXPECT_NEAR(cost.time.value(), 10.2104e-3, 1e-6);
  EXPECT_NEAR(cost.power.value(), 585.134, 1e-3);
}

TEST(ServeTiming, BeyondTheEndsTheLineGoesOnAndThePowerStays) {
  // 7.316 ms - 6.98 / 7.97 of 0.596 ms.
  EXPECT_NEAR(decode_cost(llama(), 1).time.value(), 6.7940e-3, 1e-6);
  EXPECT_NEAR(decode_cost(llama(), 1).power.value(), 462.84, 0.01);
  EXPECT_EQ(decode_cost(llama(), 0).time, decode_cost(llama(), 1).time);
  EXPECT_NEAR(decode_cost(llama(), 1000).power.value(), 685.1, 1e-9);
  EXPECT_GT(decode_cost(llama(), 1000).time, decode_cost(llama(), 690).time);
}

TEST(ServeTiming, PrefillGrowsWithTheTokensFromOneStepUp) {
  EXPECT_EQ(prefill_cost(llama(), 1).time, decode_cost(llama(), 1).time);
  EXPECT_NEAR(prefill_cost(llama(), 2048).time.value(), 2048 * 36.3e-6, 1e-9);
  EXPECT_NEAR(prefill_cost(llama(), 2048).power.value(), 690.5, 1e-9);
}

TEST(ServeTiming, ThePhaseTakesTheTimeAndDrawsThePower) {
  const Silicon& chip = h100().silicon;
  for (const ServeModel& model : shipped_serve_models()) {
    for (const StepCost& cost : {decode_cost(model, 1), decode_cost(model, 32),
                                 decode_cost(model, 400), prefill_cost(model, 900)}) {
      const Phase phase = phase_of(cost, model, chip);
      EXPECT_NEAR(device_time(chip, phase, chip.clock_max_mhz), cost.time.value(), 1e-9);
      EXPECT_NEAR(active_power(chip, phase, chip.clock_max_mhz, chip.reference_c),
                  cost.power.value(), 1e-6);
    }
  }
}

TEST(ServeTiming, ALowerLimitCostsADecodeStepLessThanAPrefill) {
  const Silicon& chip = h100().silicon;
  const auto slowdown = [&](const StepCost& cost) {
    return settle(chip, phase_of(cost, llama(), chip), 400, chip.reference_c).period_s /
           cost.time.value();
  };
  EXPECT_GT(slowdown(decode_cost(llama(), 8)), 1.0);
  EXPECT_GT(slowdown(prefill_cost(llama(), 2048)), 1.1 * slowdown(decode_cost(llama(), 8)));
}

TEST(ServeTiming, TheCacheTakesWhatTheWeightsLeave) {
  // 81,559 MiB: 0.9 of it less 16.06 GB, by 16 tokens of 131,072 bytes.
  EXPECT_EQ(kv_blocks_of(llama(), std::uint64_t{81559} << 20, 16), 29043);
  EXPECT_EQ(kv_blocks_of(llama(), std::uint64_t{1} << 30, 16), 0);
}

TEST(ServeTiming, NamesWhatThereIs) {
  EXPECT_TRUE(find_serve_model("meta-llama/llama-3.1-8b-instruct", "H100"));
  const auto model = find_serve_model("gpt", "h100");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kNotFound);
  EXPECT_NE(model.error().text().find("qwen3-14b"), std::string::npos);
  const auto gpu = find_serve_model("llama-3.1-8b", "v100");
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().code, ErrorCode::kNotFound);
  EXPECT_NE(gpu.error().text().find("h100"), std::string::npos);
}

TEST(ServeTiming, TablesThatCannotBeAreRefusedWithTheirLine) {
  const std::string models =
      "model,name,params_billions,kv_bytes_per_token,context_tokens,prefill_us_per_token,"
      "prefill_origin\nm,M,8,1000,4096,30,synthetic\n";
  const std::string head = "gpu,model,batch,itl_ms,power_w\n";
  EXPECT_TRUE(parse_serve_models(models, head + "h100,m,1,5,400\nh100,m,8,6,500\n"));
  const auto refused = [&](const std::string& rows) {
    const auto parsed = parse_serve_models(models, head + rows);
    return parsed ? std::string() : parsed.error().text();
  };
  EXPECT_NE(refused("h100,x,1,5,400\n").find("line 2: no such model"), std::string::npos);
  EXPECT_NE(refused("h100,m,8,5,400\nh100,m,8,6,500\n").find("line 3"), std::string::npos);
  EXPECT_NE(refused("h100,m,8,0,400\n").find("itl_ms"), std::string::npos);
  EXPECT_NE(refused("h100,m,8,5,400\n").find("fewer than two"), std::string::npos);
  EXPECT_FALSE(parse_serve_models("model,name\n", head));
}

}  // namespace
}  // namespace perjoule::twin

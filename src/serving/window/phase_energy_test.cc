#include "serving/window/phase_energy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/random.h"

namespace perjoule {
namespace {

constexpr double kPrompt = 0.02;  // J
constexpr double kOutput = 0.15;

struct Made {
  std::vector<RequestRecord> records;
  std::vector<PowerReading> power;
  SteadyWindow window;
};

/// A server that makes 1,000 tokens a second and reads prompts as they come, each in the tenth of
/// a second before its first token.
Made made(std::uint64_t seed, double seconds, double noise, bool in_proportion = false) {
  Random random(seed);
  Made all;
  const auto steps = static_cast<std::size_t>(seconds * 10);
  for (std::size_t i = 0; i < steps; ++i) {
    const Instant begin = Instant{} + Seconds(0.1 * static_cast<double>(i));
    const Instant end = begin + Seconds(0.1);
    const auto prompt = static_cast<std::int64_t>(
        in_proportion ? 500 : (random.uniform() < 0.3 ? 3000 * random.uniform() : 0));
    RequestRecord& record = all.records.emplace_back();
    record.scheduled = record.sent = begin;
    record.response.first_token = record.ended = end + Seconds(-1e-4);
    record.response.tokens.prompt = prompt;
    record.response.tokens.output = 100;
    record.response.chunks.push_back({.at = end + Seconds(-1e-4), .tokens = 100});
    const double joules =
        (kPrompt * static_cast<double>(prompt) + kOutput * 100) * (1 + noise * random.normal());
    all.power.push_back({begin + Seconds(1e-9), Watts(joules / 0.1)});
    all.power.push_back({end, Watts(joules / 0.1)});
  }
  all.window.from = Instant{};
  all.window.until = Instant{} + Seconds(seconds);
  return all;
}

TEST(PhaseEnergy, TellsPrefillFromDecodeWithinItsErrors) {
  int prompt_within = 0, output_within = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Made run = made(seed, 60, 0.05);
    const auto phases = phase_energy(run.records, run.power, run.window);
    ASSERT_TRUE(phases) << phases.error().text();
    prompt_within +=
        std::abs(phases->prompt_token.value() - kPrompt) <= 2 * phases->prompt_sigma.value();
    output_within +=
        std::abs(phases->output_token.value() - kOutput) <= 2 * phases->output_sigma.value();
    EXPECT_NEAR(phases->prompt_token.value(), kPrompt, 0.3 * kPrompt);
    EXPECT_GT(phases->prefill_share, 0.2);
    EXPECT_LT(phases->prefill_share, 0.6);
  }
  EXPECT_GE(prompt_within, 90);
  EXPECT_GE(output_within, 90);
}

TEST(PhaseEnergy, WhatCannotBeToldApartIsNot) {
  const Made same = made(1, 60, 0.05, true);
  EXPECT_FALSE(phase_energy(same.records, same.power, same.window));
  const Made brief = made(1, 5, 0.05);
  EXPECT_FALSE(phase_energy(brief.records, brief.power, brief.window));
  const Made noisy = made(1, 60, 3);
  EXPECT_FALSE(phase_energy(noisy.records, noisy.power, noisy.window));
  Made silent = made(1, 60, 0.05);
  for (RequestRecord& record : silent.records) record.response.tokens.prompt.reset();
  EXPECT_FALSE(phase_energy(silent.records, silent.power, silent.window));
  EXPECT_FALSE(phase_energy(silent.records, {}, silent.window));
}

TEST(PhaseEnergy, WhatWasCachedWasNotRead) {
  Made run = made(3, 60, 0.01);
  for (RequestRecord& record : run.records) {
    record.response.tokens.cached = 1000;
    *record.response.tokens.prompt += 1000;
  }
  const auto phases = phase_energy(run.records, run.power, run.window);
  ASSERT_TRUE(phases) << phases.error().text();
  EXPECT_NEAR(phases->prompt_token.value(), kPrompt, 0.05 * kPrompt);
}

TEST(PhaseEnergy, GpusOfTheirOwnAreEachTheirs) {
  Energy prefill, decode;
  prefill.joules = Joules(300);
  prefill.random = Joules(3);
  decode.joules = Joules(700);
  decode.random = Joules(7);
  prefill.status = decode.status = Status::kMeasured;
  const WindowTotals totals{.output_tokens = 5000, .prompt_tokens = 10'000, .first_tokens = 100};
  const auto phases = phase_energy(prefill, decode, totals);
  ASSERT_TRUE(phases) << phases.error().text();
  EXPECT_EQ(phases->rule, PhaseRule::kGpus);
  EXPECT_DOUBLE_EQ(phases->prompt_token.value(), 0.03);
  EXPECT_DOUBLE_EQ(phases->output_token.value(), 700.0 / 4900);
  EXPECT_DOUBLE_EQ(phases->output_sigma.value(), 7.0 / 4900);
  EXPECT_DOUBLE_EQ(phases->prefill_share, 0.3);
  EXPECT_FALSE(phase_energy(Energy::missing(""), decode, totals));
  EXPECT_FALSE(phase_energy(prefill, decode, {.output_tokens = 100, .first_tokens = 100}));
}

}  // namespace
}  // namespace perjoule

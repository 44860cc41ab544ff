#include "serving/engine/live_energy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "meter/fake_source.h"
#include "net/test_certificate.h"
#include "serving/load/test_load_server.h"

namespace perjoule {
namespace {

EnginePage page(double at, const std::string& text) {
  EnginePage made;
  made.page = parse_metrics_text(text).value();
  made.scrape = read_engines(made.page, Instant{} + Seconds(at)).value();
  return made;
}

std::string outputs_of(double outputs, const std::string& labels) {
  return "vllm:generation_tokens_total{" + labels + "} " + std::to_string(outputs) + "\n";
}

std::string counters(double prompts, double outputs, const std::string& labels) {
  return "vllm:prompt_tokens_total{" + labels + "} " + std::to_string(prompts) + "\n" +
         outputs_of(outputs, labels);
}

LiveSpan measured(double joules, double seconds = 10) {
  LiveSpan span;
  span.energy.joules = Joules(joules);
  span.energy.random = Joules(joules * 0.01);
  span.energy.source = "gpu:a";
  span.energy.status = Status::kMeasured;
  span.duration = Seconds(seconds);
  return span;
}

const std::string kA = R"(model_name="m",tenant="a")";
const std::string kB = R"(model_name="m",tenant="b")";

double share_sum(const LiveFigures& figures) {
  double joules = 0;
  for (const LiveShare& one : figures.shares) joules += one.energy.joules.value();
  return joules;
}

TEST(LiveEnergy, ATokenBetweenTwoPages) {
  const auto before = page(10, counters(1000, 500, kA));
  const auto after =
      page(20, counters(1600, 900, kA) + "vllm:num_requests_running{" + kA + "} 7\n");
  const auto figures = live_figures(before, after, measured(200), {});
  EXPECT_EQ(figures.output_tokens, 400);
  EXPECT_EQ(figures.prompt_tokens, 600);
  EXPECT_EQ(figures.tokens_per_second(), 40);
  EXPECT_DOUBLE_EQ(figures.output_token.joules.value(), 0.5);
  EXPECT_DOUBLE_EQ(figures.total_token.joules.value(), 0.2);
  EXPECT_EQ(figures.running, 7);
  EXPECT_FALSE(figures.waiting);
  EXPECT_EQ(figures.output_token.status, Status::kMeasured);
  EXPECT_TRUE(figures.notes.empty());
}

TEST(LiveEnergy, PowerIsOfTheMetersOwnTimeAndAsUncertainAsTheEnergy) {
  // The pages are 10 s apart, the meters 8.
  const auto figures = live_figures(page(10, counters(5, 5, kA)), page(20, counters(5, 405, kA)),
                                    measured(200, 8), {});
  EXPECT_DOUBLE_EQ(figures.power()->value(), 25);
  EXPECT_NEAR(figures.power_expanded()->value(), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(*figures.tokens_per_joule(), 2);
  EXPECT_NEAR(*figures.tokens_per_joule_expanded(), 0.04, 1e-12);
}

TEST(LiveEnergy, WithoutATokenThereIsPowerAndNoMore) {
  const auto figures =
      live_figures(page(10, counters(5, 5, kA)), page(20, counters(5, 5, kA)), measured(200), {});
  EXPECT_EQ(figures.output_token.status, Status::kMissing);
  EXPECT_EQ(figures.output_tokens, 0);
  EXPECT_FALSE(figures.tokens_per_joule());
  EXPECT_DOUBLE_EQ(figures.power()->value(), 20);
}

TEST(LiveEnergy, WithoutAMeterThereAreTokensAndNoMore) {
  LiveSpan span;
  span.duration = Seconds(10);
  const auto figures =
      live_figures(page(10, counters(5, 5, kA)), page(20, counters(9, 45, kA)), span, {});
  EXPECT_EQ(figures.output_tokens, 40);
  EXPECT_FALSE(figures.power());
  EXPECT_FALSE(figures.power_expanded());
  EXPECT_FALSE(figures.tokens_per_joule());
  EXPECT_EQ(figures.energy_time.value(), 0);
}

TEST(LiveEnergy, OfABoundThereIsNoPower) {
  LiveSpan span = measured(200);
  span.energy.lower_bound = true;
  span.notes = {"gpu:a was reset"};
  const auto figures =
      live_figures(page(10, counters(5, 5, kA)), page(20, counters(9, 45, kA)), span, {});
  EXPECT_FALSE(figures.power());
  EXPECT_FALSE(figures.tokens_per_joule());
  EXPECT_TRUE(figures.per_second().lower_bound);
  EXPECT_EQ(figures.notes, span.notes);
}

TEST(LiveEnergy, AServerThatWasRestartedHasNoFiguresForThatWhile) {
  const auto figures = live_figures(page(10, counters(900, 500, kA)), page(20, counters(5, 5, kA)),
                                    measured(200), {});
  EXPECT_EQ(figures.output_token.status, Status::kMissing);
  EXPECT_FALSE(figures.output_tokens);
  EXPECT_FALSE(figures.prompt_tokens);
  EXPECT_FALSE(figures.tokens_per_second());
  EXPECT_DOUBLE_EQ(figures.power()->value(), 20);
  ASSERT_EQ(figures.notes.size(), 1u);
  EXPECT_NE(figures.notes[0].find("restarted"), std::string::npos);
}

TEST(LiveEnergy, WithoutACounterOfPromptsTheyAreUnknown) {
  const auto figures = live_figures(page(10, outputs_of(0, kA)), page(20, outputs_of(100, kA)),
                                    measured(200), {.split_by = "tenant"});
  EXPECT_FALSE(figures.prompt_tokens);
  EXPECT_EQ(figures.total_token.status, Status::kMissing);
  EXPECT_DOUBLE_EQ(figures.output_token.joules.value(), 2);
  ASSERT_EQ(figures.shares.size(), 1u);
  EXPECT_FALSE(figures.shares[0].prompt_tokens);
}

TEST(LiveEnergy, ACounterThatVanishesIsNotMadeUpForByOthers) {
  // The model's sum rises all the same.
  const auto figures =
      live_figures(page(10, counters(900, 500, kA) + counters(0, 0, kB)),
                   page(20, counters(2000, 2000, kB)), measured(200), {.split_by = "tenant"});
  EXPECT_FALSE(figures.output_tokens);
  ASSERT_EQ(figures.shares.size(), 1u);
  EXPECT_EQ(figures.shares[0].kind, ShareKind::kUnknown);
  EXPECT_DOUBLE_EQ(share_sum(figures), 200);
}

TEST(LiveEnergy, PartsByALabelSumToTheWhole) {
  const auto before = page(10, counters(0, 0, kA) + counters(0, 0, kB));
  // The format wants a family's samples; the parser takes them in any order.
  const auto after = page(20, counters(100, 90, kA) + counters(900, 10, kB));
  const auto figures =
      live_figures(before, after, measured(200), {.split_by = "tenant", .output_weight = 10});
  ASSERT_EQ(figures.shares.size(), 2u);
  double share = 0;
  for (const LiveShare& one : figures.shares) {
    share += *one.share;
    EXPECT_EQ(one.energy.status, Status::kEstimated);
    EXPECT_TRUE(one.energy.mixed_with.contains(Status::kMeasured));
  }
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_NEAR(share_sum(figures), 200, 1e-9);
  // 100 + 900 and 900 + 100 prompt tokens' worth: equal, so by name.
  EXPECT_EQ(figures.shares[0].value, "a");
  EXPECT_DOUBLE_EQ(*figures.shares[0].share, 0.5);
  const auto unweighted =
      live_figures(before, after, measured(200), {.split_by = "tenant", .output_weight = 1});
  EXPECT_EQ(unweighted.shares[0].value, "b");
}

TEST(LiveEnergy, WhatNoTokenWasMadeByIsAPartOfItsOwn) {
  const auto same = counters(7, 7, kA);
  const auto figures =
      live_figures(page(10, same), page(20, same), measured(200), {.split_by = "tenant"});
  ASSERT_EQ(figures.shares.size(), 2u);
  EXPECT_EQ(figures.shares[0].kind, ShareKind::kIdle);
  EXPECT_EQ(figures.shares[1].share, 0);
  EXPECT_DOUBLE_EQ(share_sum(figures), 200);
}

TEST(LiveEnergy, ALabelThatIsNotThereIsSaidWithThoseThatAre) {
  const auto text = parse_metrics_text(counters(1, 1, kA)).value();
  const auto none = tokens_by_label(text, "pod");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_NE(none.error().text().find("model_name, tenant"), std::string::npos)
      << none.error().text();
}

/// Steps of 10 s and 200 J between pages of these output tokens.
LiveFigures sum_of(const std::vector<std::string>& texts, const LiveOptions& options = {}) {
  LiveSum sum;
  for (std::size_t i = 1; i < texts.size(); ++i) {
    const double at = 10 * static_cast<double>(i);
    sum.add(live_figures(page(at - 10, texts[i - 1]), page(at, texts[i]), measured(200), options));
  }
  return sum.figures(Seconds(10 * static_cast<double>(texts.size() - 1)));
}

TEST(LiveSum, ARestartThatFirstAndLastPageHideIsNotCountedAsNone) {
  const auto whole = sum_of(
      {counters(0, 1000, kA), counters(0, 11000, kA), counters(0, 0, kA), counters(0, 12000, kA)});
  EXPECT_EQ(whole.output_tokens, 22000);
  EXPECT_DOUBLE_EQ(whole.energy.joules.value(), 600);
  EXPECT_DOUBLE_EQ(whole.output_token.joules.value(), 400.0 / 22000);
  EXPECT_EQ(whole.duration.value(), 30);
  EXPECT_EQ(whole.energy_time.value(), 30);
  EXPECT_EQ(whole.tokens_time.value(), 20);
  EXPECT_EQ(whole.known_time.value(), 20);
  EXPECT_TRUE(whole.is_partial);
  EXPECT_EQ(whole.notes.size(), 1u);
}

TEST(LiveSum, PartsSumToTheWholeOverIdleAndUnknownSteps) {
  const auto whole =
      sum_of({counters(0, 10, kA) + counters(0, 0, kB), counters(0, 20, kA) + counters(0, 30, kB),
              counters(0, 20, kA) + counters(0, 30, kB), counters(0, 40, kB), counters(0, 80, kB)},
             {.split_by = "tenant"});
  EXPECT_DOUBLE_EQ(whole.energy.joules.value(), 800);
  EXPECT_NEAR(share_sum(whole), 800, 1e-9);
  ASSERT_EQ(whole.shares.size(), 4u);
  EXPECT_EQ(whole.shares[0].value, "b");
  EXPECT_NEAR(whole.shares[0].energy.joules.value(), 350, 1e-9);
  EXPECT_EQ(whole.shares[0].output_tokens, 70);
  EXPECT_EQ(whole.output_tokens, 80);
}

TEST(LiveSum, ALostMeterCostsItsOwnStepsOnly) {
  LiveSum sum;
  sum.add(live_figures(page(0, counters(0, 0, kA)), page(10, counters(0, 100, kA)), measured(200),
                       {.split_by = "tenant"}));
  LiveSpan bound = measured(50);
  bound.energy.lower_bound = true;
  sum.add(live_figures(page(10, counters(0, 100, kA)), page(20, counters(0, 200, kA)), bound,
                       {.split_by = "tenant"}));
  sum.add(live_figures(page(20, counters(0, 200, kA)), page(30, counters(0, 300, kA)), {},
                       {.split_by = "tenant"}));
  const auto whole = sum.figures(Seconds(30));
  EXPECT_FALSE(whole.energy.one_sided());
  EXPECT_DOUBLE_EQ(whole.energy.joules.value(), 200);
  EXPECT_EQ(whole.energy_time.value(), 10);
  EXPECT_EQ(whole.output_tokens, 300);
  EXPECT_DOUBLE_EQ(whole.output_token.joules.value(), 2);
  EXPECT_EQ(whole.known_time.value(), 10);
  EXPECT_DOUBLE_EQ(share_sum(whole), 200);
}

TEST(LiveSum, OfNothingNothingIsKnown) {
  const auto whole = LiveSum().figures(Seconds(3));
  EXPECT_EQ(whole.energy.status, Status::kMissing);
  EXPECT_FALSE(whole.output_tokens);
  EXPECT_FALSE(whole.power());
}

/// A GPU of 100 W on a clock of the test's, and a server whose answers take a while.
class LiveSteps : public testing::Test {
 protected:
  Result<EnginePage> read() {
    const Instant asked = clock_.now();
    clock_.advance(answers_in_);
    if (is_gone_) return Error::unavailable("nobody there");
    EnginePage made = page(0, counters(0, tokens_, kA));
    made.within = (clock_.now() - asked) / 2.0;
    made.scrape.at = asked + made.within;
    return made;
  }
  void pass(double seconds) {
    for (int i = 0; i < 10 * seconds; ++i) {
      clock_.advance(Seconds(0.1));
      tokens_ += 10;
      for (const auto& channel : meter_.channels()) channel->sample();
    }
  }

  VirtualClock clock_{Instant{} + Seconds(1)};
  FakeSource gpu_{fake_counter("gpu:a", 0.1), clock_, [](double) { return 100.0; }};
  Meter meter_{{&gpu_}, clock_};
  LiveEnergy live_{meter_, [this] { return read(); }, {}};
  Seconds answers_in_{0.001};
  double tokens_ = 0;
  bool is_gone_ = false;
};

TEST_F(LiveSteps, AServerThatHangsDoesNotChangeThePower) {
  gpu_.start_micro = 1e9;
  ASSERT_TRUE(live_.begin());
  for (const double hangs : {0.001, 6.0, 0.001, 0.001}) {
    pass(1);
    answers_in_ = Seconds(hangs);
    const auto step = live_.step();
    ASSERT_TRUE(step);
    ASSERT_TRUE(step->power());
    EXPECT_NEAR(step->power()->value(), 100, 12) << hangs;
  }
  const auto whole = live_.end();
  EXPECT_NEAR(whole.energy_time.value(), whole.duration.value(), 1e-9);
  EXPECT_NEAR(whole.power()->value(), 100, 2);
}

TEST_F(LiveSteps, BoundsDoNotGrowAndAResetCostsItsOwnStep) {
  gpu_.start_micro = 1e9;
  ASSERT_TRUE(live_.begin());
  double widest = 0;
  for (int i = 0; i < 30; ++i) {
    pass(0.5);
    if (i == 10) gpu_.start_micro = 0;
    pass(0.5);
    const auto step = live_.step();
    ASSERT_TRUE(step);
    EXPECT_EQ(step->has_energy(), i != 10) << i;
    const double width = (step->energy.upper - step->energy.lower).value();
    if (i == 0) widest = width;
    if (i != 10) {
      EXPECT_LE(width, widest * 1.5) << i;
    }
  }
  const auto whole = live_.end();
  EXPECT_TRUE(whole.has_energy());
  EXPECT_NEAR(whole.energy.joules.value(), 2900, 30);
  EXPECT_EQ(whole.output_tokens, 3000);
  EXPECT_NEAR(whole.known_time.value(), 29, 0.1);
  EXPECT_TRUE(whole.is_partial);
}

TEST_F(LiveSteps, AnOutageIsPartOfTheStepBehindIt) {
  gpu_.start_micro = 1e9;
  ASSERT_TRUE(live_.begin());
  is_gone_ = true;
  pass(1);
  EXPECT_FALSE(live_.step());
  is_gone_ = false;
  pass(1);
  const auto step = live_.step();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->output_tokens, 200);
  EXPECT_NEAR(step->energy.joules.value(), 200, 12);
  // At the end there is none to be had: what was drawn is known all the same.
  is_gone_ = true;
  pass(1);
  EXPECT_FALSE(live_.step());
  const auto whole = live_.end();
  EXPECT_NEAR(whole.energy.joules.value(), 300, 12);
  EXPECT_NEAR(whole.duration.value(), 3, 0.1);
  EXPECT_NEAR(whole.tokens_time.value(), 2, 0.1);
  EXPECT_EQ(whole.output_tokens, 200);
}

TEST(EngineReader, Tls) {
  const auto certificate = test_certificate::make();
  const auto context = test_certificate::server_context(certificate);
  const std::string trusted =
      testing::TempDir() + "live-trusted-" + std::to_string(getpid()) + ".pem";
  test_certificate::write(certificate, trusted);
  TestHttpServer server(
      [](TestPeer& peer) {
        while (peer.read_request())
          peer.send(test_load_server::body_response("200 OK", counters(1, 2, kA)));
      },
      AF_INET, context.get());
  const RealClock clock;
  const HttpUrl url = HttpUrl::parse(server.url()).value();
  HttpClientOptions trusting;
  trusting.tls.authorities = trusted;
  HttpClientOptions insecure;
  insecure.tls.verifies = false;
  EXPECT_TRUE(EngineReader::create(clock, url, "", trusting).value()->read());
  EXPECT_TRUE(EngineReader::create(clock, url, "", insecure).value()->read());
  EXPECT_FALSE(EngineReader::create(clock, url, "").value()->read());
  std::filesystem::remove(trusted);
}

}  // namespace
}  // namespace perjoule

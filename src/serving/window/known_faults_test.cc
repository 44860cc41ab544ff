// Figures that other tools got wrong, by the public thread that tells of it: the input that misled
// them, and the right figure. A thread that asks for a feature rather than tells of a wrong figure
// is not here, nor is one about the load itself, which is the load generator's.
#include <gtest/gtest.h>

#include "serving/stream/sse_parser.h"
#include "serving/stream/test_stream.h"
#include "serving/window/latency_report.h"
#include "serving/window/stationary_window.h"
#include "serving/window/test_load.h"

namespace perjoule {
namespace {

using namespace test_stream;

double in_ms(const std::optional<Seconds>& time) { return time ? time->value() * 1e3 : -1; }

/// A server with speculative decoding: a chunk of four tokens every 40 ms from 100 ms on.
RequestRecord speculative(int chunks) {
  std::vector<Timed> events{{90, role(usage(0))}};
  for (int i = 0; i < chunks; ++i)
    events.push_back({100.0 + 40 * i, chunk("content", "four of them", usage(4 * (i + 1)))});
  events.push_back({100.0 + 40 * (chunks - 1), finish("length", usage(4 * chunks))});
  return record_of(events);
}

TEST(KnownFaults, Vllm35471PeakRateCountedChunks) {
  // 102 chunks in 4.04 s: a mean of 101 tokens a second, and a "peak" of 25 chunks a second.
  const std::vector<RequestRecord> records{speculative(102)};
  const Seconds duration = *records[0].response.last_chunk - *records[0].response.first_token;
  const Hertz mean = static_cast<double>(records[0].response.tokens.output) / duration;
  const Hertz peak = peak_token_rate(records, Seconds(1));
  EXPECT_DOUBLE_EQ(peak.value(), 100);  // 25 chunks of 4
  EXPECT_NEAR(mean.value(), 101, 0.1);
  // Over a step that is the whole of it, the peak is the mean.
  EXPECT_DOUBLE_EQ(peak_token_rate(records, Seconds(8)).value(), 408 / 8.0);
}

TEST(KnownFaults, Vllm6531ItlBelowTpot) {
  // One value a chunk, or zeros for the tokens of a bundle, put the mean of ITL off TPOT. Here TPOT
  // is the mean of the token gaps by definition, in every request.
  for (const RequestRecord& record : {speculative(10), record_of({{10, chunk("content", "a")},
                                                                  {30, chunk("content", "b")},
                                                                  {35, chunk("content", "c")},
                                                                  {36, finish()}})}) {
    const LatencyReport report = latency_report({record});
    EXPECT_NEAR(report.itl.mean.value(), report.tpot.mean.value(), 1e-12);
  }
  EXPECT_NEAR(in_ms(latency_of(speculative(10)).tpot), 10, 1e-9);
}

TEST(KnownFaults, Vllm4252TtftOfRequestsSentAtOnceIsTheirQueue) {
  const test_load::LoadRun made = test_load::closed({}, 640);
  const auto window = stationary_window(made.records, made.power);
  ASSERT_TRUE(window) << window.error().text();
  EXPECT_FALSE(window->queue_is_level);
  EXPECT_NE(window->window.warning.find("times to first token"), std::string::npos);
}

TEST(KnownFaults, Vllm13412TtftFellAsTheClientHeldRequestsBack) {
  // Under a limit of concurrency the client waits, and the longer the answers the more of the queue
  // is its own. TTFT is from `sent`, and the client's queue stands beside it.
  RequestRecord record = speculative(3);
  record.scheduled = ms(-700);
  const LatencyReport report = latency_report({record});
  EXPECT_NEAR(report.ttft.p50.value(), 0.1, 1e-12);
  EXPECT_NEAR(report.send_delay.p50.value(), 0.7, 1e-12);
}

TEST(KnownFaults, Vllm9722ConcurrencyIsWhatWasRealised) {
  // Two requests of 100 ms that overlap by half: 1.33 at a time, whatever was asked for.
  std::vector<RequestRecord> records(2);
  records[0].ended = ms(100);
  records[1].sent = ms(50);
  records[1].ended = ms(150);
  SteadyWindow all;
  all.until = ms(150);
  EXPECT_NEAR(window_totals(records, all).mean_open, 200.0 / 150, 1e-9);
}

TEST(KnownFaults, Guidellm737TtftIgnoredReasoning) {
  const RequestRecord record = record_of({{20, role()},
                                          {30, chunk("reasoning", "Let me see.")},
                                          {3000, chunk("content", "42")},
                                          {3001, finish()}});
  const RequestLatency latency = latency_of(record);
  EXPECT_NEAR(in_ms(latency.ttft), 30, 1e-9);
  EXPECT_NEAR(in_ms(latency.first_answer), 3000, 1e-9);
  // All of it may be reasoning, where the limit of tokens ends it.
  const RequestLatency cut =
      latency_of(record_of({{30, chunk("reasoning", "Let")}, {40, finish("length")}}));
  EXPECT_NEAR(in_ms(cut.ttft), 30, 1e-9);
  EXPECT_FALSE(cut.first_answer);
}

TEST(KnownFaults, Guidellm444FailedRequestsAmongTheLatencies) {
  RequestRecord refused;
  refused.failure = Failure::kRefused;
  refused.status = 503;
  refused.ended = ms(2);
  const LatencyReport report = latency_report({speculative(5), refused, refused});
  EXPECT_EQ(report.e2el.count, 1U);
  EXPECT_NEAR(report.e2el.mean.value(), 0.26, 1e-12);  // not (260 + 2 + 2) / 3 ms
  EXPECT_DOUBLE_EQ(report.failed_share(), 2.0 / 3);
  EXPECT_EQ(goodput({speculative(5), refused}, {}, Seconds(1)).share, 0.5);
}

TEST(KnownFaults, Guidellm216NegativeTtft) {
  // Two clocks, one of which was set back. All instants here are of one that cannot be.
  VirtualClock clock;
  StreamEventReader reader;
  TokenStream stream(reader);
  RequestRecord record;
  record.sent = clock.now();
  clock.suspend(Seconds(-3600));  // the wall's clock is an hour back
  clock.advance(Seconds(0.05));
  stream.take({"", chunk("content", "a")}, clock.now());
  record.response = stream.finish().response;
  EXPECT_NEAR(in_ms(latency_of(record).ttft), 50, 1e-6);
}

TEST(KnownFaults, GenaiBench81HiddenReasoningCameAsOneChunk) {
  // 500 tokens of reasoning are not sent; the first chunk comes 5 s in and the total is 540.
  const std::string counts = R"(,"usage":{"prompt_tokens":9,"completion_tokens":540,)"
                             R"("completion_tokens_details":{"reasoning_tokens":500}})";
  std::vector<Timed> events{{20, role(usage(0))}, {5000, chunk("content", "So", usage(501))}};
  for (int i = 1; i < 40; ++i)
    events.push_back({5000.0 + 10 * i, chunk("content", " x", usage(501 + i))});
  events.push_back({5390, finish("stop", counts)});
  const RequestRecord record = record_of(events);
  const RequestLatency latency = latency_of(record);
  EXPECT_EQ(record.response.tokens.reasoning, 500);
  EXPECT_EQ(record.response.tokens.answer(), 40);
  EXPECT_EQ(latency.first_chunk_tokens, 501U);  // said, so that TTFT is read for what it is
  EXPECT_NEAR(in_ms(latency.tpot), 10, 1e-9);   // not 390 ms / 539
  EXPECT_LT(in_ms(latency.tpot_of_totals), 0.8);
}

TEST(KnownFaults, LlmperfPr99ItlOfChunksOfSeveralTokens) {
  const Response response = speculative(11).response;
  const LatencySeries tokens = latency_series(token_gaps(response));
  const LatencySeries chunks = latency_series(chunk_gaps(response));
  EXPECT_EQ(tokens.count, 40U);
  EXPECT_NEAR(tokens.p50.value(), 0.010, 1e-9);
  EXPECT_EQ(chunks.count, 10U);
  EXPECT_NEAR(chunks.p50.value(), 0.040, 1e-9);
}

TEST(KnownFaults, Ray59681MedianItlOfZeroBehindABufferingProxy) {
  // Six tokens that were made 10 ms apart come at once, every 60 ms.
  std::vector<Timed> events;
  for (int i = 0; i < 60; ++i) events.push_back({60.0 * (1 + i / 6), chunk("content", "a")});
  events.push_back({600, finish()});
  const LatencyReport report = latency_report({record_of(events)});
  EXPECT_EQ(report.chunk_gap.p50, Seconds(0));  // what was reported, and is true of chunks
  EXPECT_NEAR(report.itl.p50.value(), 0.010, 1e-9);
  EXPECT_NEAR(report.itl.p90.value(), 0.010, 1e-9);
  EXPECT_TRUE(report.bursts.any());
  EXPECT_DOUBLE_EQ(report.bursts.chunks_per_burst, 6);
}

TEST(KnownFaults, InferencePerf150TtftIsMissingWithoutStreaming) {
  StreamEventReader reader;
  TokenStream stream(reader);
  stream.take_body(R"({"choices":[{"text":"a b","finish_reason":"stop"}])" + usage(2) + "}",
                   ms(80));
  RequestRecord record;
  record.response = stream.finish().response;
  const LatencyReport report = latency_report({record});
  EXPECT_EQ(report.ttft.count, 0U);
  EXPECT_EQ(report.not_streamed, 1U);  // why it is
  EXPECT_NEAR(report.e2el.p50.value(), 0.08, 1e-9);
}

TEST(KnownFaults, PerfAnalyzer431StreamsOfSessionsAtOnce) {
  // Two connections whose events are cut into one another must not mix.
  const std::string text =
      "data: " + chunk("content", "a") + "\n\ndata: " + finish() + "\n\ndata: [DONE]\n\n";
  StreamEventReader reader;
  std::vector<TokenStream> streams(2, TokenStream(reader));
  std::vector<SseParser> parsers(2, SseParser(1000));
  for (std::size_t at = 0; at < text.size(); at += 7) {
    for (std::size_t i = 0; i < 2; ++i) {
      parsers[i].read(text.substr(at, 7),
                      [&](const SseEvent& event) { streams[i].take(event, ms(1)); });
    }
  }
  for (TokenStream& stream : streams) {
    const ResponseEnd end = stream.finish();
    EXPECT_EQ(end.failure, Failure::kNone);
    EXPECT_EQ(end.response.tokens.output, 1);
  }
}

TEST(KnownFaults, PerfAnalyzer433TokensOfReasoningWereNotCounted) {
  // 512 tokens of output, of which the tool saw the 38 of `content`.
  std::string reasoning = "a";
  std::string content = "a";
  for (int i = 1; i < 474; ++i) reasoning += " a";
  for (int i = 1; i < 38; ++i) content += " a";
  const std::string body = R"({"choices":[{"message":{"reasoning_content":")" + reasoning +
                           R"(","content":")" + content + R"("},"finish_reason":"length"}])";
  const auto count = [](std::string_view text) {
    return 1 + std::count(text.begin(), text.end(), ' ');
  };
  StreamEventReader reader;
  TokenStream with_usage(reader);
  with_usage.take_body(body + usage(512) + "}", ms(1));
  EXPECT_EQ(with_usage.finish().response.tokens.output, 512);
  TokenStream without(reader, {.tokenizer = count});
  without.take_body(body + "}", ms(1));
  const TokenCounts tokens = without.finish().response.tokens;
  EXPECT_EQ(tokens.output, 512);
  EXPECT_EQ(tokens.reasoning, 474);
  EXPECT_EQ(tokens.source, CountSource::kTokenizer);
}

TEST(KnownFaults, TritonDistributed264PingsBetweenEvents) {
  SseParser parser(1000);
  StreamEventReader reader;
  TokenStream stream(reader);
  const auto take = [&](const SseEvent& event) { stream.take(event, ms(1)); };
  parser.read(": ping\n\ndata: " + chunk("content", "a") + "\n\n: ping\n:\n\ndata: " + finish() +
                  "\n\n:\n\ndata: [DONE]\n\n",
              take);
  const ResponseEnd end = stream.finish();
  EXPECT_EQ(end.failure, Failure::kNone);
  EXPECT_EQ(end.response.tokens.output, 1);
}

TEST(KnownFaults, Aiperf340SecondTokenMicrosecondsBehindTheFirst) {
  // Two events in one read: 8 us apart by a clock asked at the parsing, at once by the read's.
  std::vector<Timed> events{{44, chunk("content", "a")}, {44, chunk("content", "b")}};
  for (int i = 1; i <= 10; ++i) events.push_back({44.0 + 13 * i, chunk("content", "c")});
  events.push_back({174, finish()});
  const RequestLatency latency = latency_of(record_of(events));
  EXPECT_EQ(in_ms(latency.second_token), 0);
  EXPECT_EQ(latency.first_chunk_tokens, 2U);
  EXPECT_NEAR(in_ms(latency.tpot), 13, 1e-9);  // 130 ms for the ten behind them, not for eleven
}

TEST(KnownFaults, AiperfPr1279ABundledFirstChunkRaisedTheSpeedOfAUser) {
  // The first chunk holds 20 tokens, ten more follow 10 ms apart: 100 tokens/s, not 290.
  std::vector<Timed> events{{500, chunk("content", "twenty of them", usage(20))}};
  for (int i = 1; i <= 10; ++i)
    events.push_back({500.0 + 10 * i, chunk("content", "a", usage(20 + i))});
  events.push_back({600, finish("stop", usage(30))});
  const RequestLatency latency = latency_of(record_of(events));
  EXPECT_EQ(latency.first_chunk_tokens, 20U);
  EXPECT_NEAR(1 / latency.tpot->value(), 100, 1e-6);
  EXPECT_NEAR(1 / latency.tpot_of_totals->value(), 290, 1e-6);
}

TEST(KnownFaults, FlexibleInferenceBench66TokenisedAgainItIsAnotherCount) {
  // The server counts 100, a tokeniser of another version 93: usage holds, and it is said.
  const TokenCounts tokens =
      response_of({chunk("content", "text"), finish(), total(usage(100)), "[DONE]"},
                  {.tokenizer = [](std::string_view) { return 93; }})
          .response.tokens;
  EXPECT_EQ(tokens.output, 100);
  EXPECT_EQ(tokens.source, CountSource::kUsage);
  EXPECT_EQ(tokens.by_tokenizer, 93);
}

TEST(KnownFaults, MlEnergyPr3CountedChunksForTokens) {
  // 404,169 tokens by usage came in 383,972 chunks: 5.3 % too few, and J/token as much too high.
  // The same proportion in a response of 2,000 tokens.
  std::vector<std::string> events;
  int tokens = 0;
  for (int i = 1; i <= 1900; ++i) {
    tokens += i % 19 == 0 ? 2 : 1;
    events.push_back(chunk("content", "a", usage(tokens)));
  }
  events.push_back(finish("stop", usage(tokens)));
  const TokenCounts counted = response_of(events).response.tokens;
  EXPECT_EQ(counted.output, 2000);
  EXPECT_EQ(counted.by_chunks, 1900);
  EXPECT_EQ(counted.on_chunks, ChunkTokens::kRunningUsage);
}

TEST(KnownFaults, MbltModelZooPr71EnergyWasNotDividedByTheBatch) {
  // A batch of 32 draws 164 W and makes 32 tokens a step of 20 ms: 102.5 mJ a token, not 3.28 J.
  const test_load::LoadRun made = test_load::closed({}, 128);
  const auto window = full_batch_window(made.records, 32);
  ASSERT_TRUE(window);
  EXPECT_NEAR(test_load::energy_per_token(made, *window).value(), 0.1025, 1e-4);
}

TEST(KnownFaults, MlperfClient19TheWindowHeldTheLoadingOfTheModel) {
  const std::vector<PowerReading> power{{ms(0), Watts(500)},  // loading
                                        {ms(10000), Watts(500)},
                                        {ms(10000), Watts(100)},
                                        {ms(12000), Watts(100)}};
  EXPECT_NEAR(energy_between(power, ms(10000), ms(12000))->value(), 200, 1e-9);
}

TEST(KnownFaults, TokenomicsPr16ErrorsThatWereSuccessesAndReasoningCountedTwice) {
  const ResponseEnd failed = response_of(std::vector<Timed>{
      {1, chunk("content", "a"), {}}, {2, R"({"message":"worker died"})", "error"}});
  EXPECT_EQ(failed.failure, Failure::kErrorInStream);
  EXPECT_NE(failed.message.find("worker died"), std::string::npos);
  EXPECT_EQ(response_of(std::vector<Timed>{{1, "worker died", "error"}}).message, "worker died");
  // Reasoning is among the completion's tokens already: 100 in all, not 190.
  const TokenCounts tokens =
      response_of({chunk("reasoning", "a"), chunk("content", "b"), finish(),
                   total(R"(,"usage":{"completion_tokens":100,)"
                         R"("completion_tokens_details":{"reasoning_tokens":90}})")})
          .response.tokens;
  EXPECT_EQ(tokens.output, 100);
  EXPECT_EQ(tokens.answer(), 10);
}

}  // namespace
}  // namespace perjoule

#include "serving/window/latency.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "serving/stream/test_stream.h"

namespace perjoule {
namespace {

using namespace test_stream;

std::vector<double> in_ms(const std::vector<Seconds>& gaps) {
  std::vector<double> values;
  for (const Seconds gap : gaps) values.push_back(gap.value() * 1e3);
  return values;
}
double in_ms(const std::optional<Seconds>& time) { return time ? time->value() * 1e3 : -1; }

TEST(Latency, EachInstantHasItsOwnFigure) {
  const RequestRecord record = record_of({{20, role()},
                                          {30, chunk("reasoning_content", "a")},
                                          {40, chunk("content", "b")},
                                          {50, chunk("content", "c")},
                                          {55, finish()},
                                          {90, total(usage(3))},
                                          {99, "[DONE]"}});
  const RequestLatency latency = latency_of(record);
  EXPECT_DOUBLE_EQ(in_ms(latency.first_byte), 20);
  EXPECT_DOUBLE_EQ(in_ms(latency.first_chunk), 20);
  EXPECT_DOUBLE_EQ(in_ms(latency.ttft), 30);
  EXPECT_DOUBLE_EQ(in_ms(latency.first_reasoning), 30);
  EXPECT_DOUBLE_EQ(in_ms(latency.first_answer), 40);
  EXPECT_DOUBLE_EQ(in_ms(latency.second_token), 10);
  EXPECT_DOUBLE_EQ(in_ms(latency.tpot), 10);
  EXPECT_DOUBLE_EQ(in_ms(latency.e2el), 55);
  EXPECT_DOUBLE_EQ(in_ms(latency.tpot_of_totals), 12.5);
  EXPECT_EQ(latency.first_chunk_tokens, 1U);
}

TEST(Latency, AChunkOfSeveralTokensIsAsManyGaps) {
  const Response response = record_of({{10, chunk("content", "a", usage(2))},
                                       {22, chunk("content", "b", usage(5))},
                                       {30, chunk("content", "c", usage(6))},
                                       {34, finish("stop", usage(7))}})
                                .response;
  const std::vector<double> expected{4, 4, 4, 8, 4};
  const std::vector<double> gaps = in_ms(token_gaps(response));
  ASSERT_EQ(gaps.size(), expected.size());
  for (std::size_t i = 0; i < gaps.size(); ++i) EXPECT_NEAR(gaps[i], expected[i], 1e-9) << i;
  EXPECT_EQ(chunk_gaps(response).size(), 2U);
}

TEST(Latency, ChunksOfOneReadAreOneBurst) {
  const Response response = record_of({{10, chunk("content", "a")},
                                       {20, chunk("content", "b")},
                                       {20, chunk("content", "c")},
                                       {30, finish()}})
                                .response;
  EXPECT_EQ(in_ms(token_gaps(response)), (std::vector<double>{5, 5}));
  EXPECT_EQ(in_ms(chunk_gaps(response)), (std::vector<double>{10, 0}));
}

TEST(Latency, ListsOfOtherClientsAreRepaired) {
  const std::vector<Seconds> listed{Seconds(0), Seconds(0), Seconds(6), Seconds(0),
                                    Seconds(0), Seconds(5), Seconds(4), Seconds(0)};
  EXPECT_EQ(repaired_gaps(listed), (std::vector<Seconds>{Seconds(2), Seconds(2), Seconds(2),
                                                         Seconds(5), Seconds(2), Seconds(2)}));
  EXPECT_TRUE(repaired_gaps({}).empty());
  EXPECT_TRUE(repaired_gaps({Seconds(0)}).empty());
}

TEST(Latency, ChoicesHaveTheirOwnGaps) {
  const Response response = record_of({{10, chunk("content", "a", "", 0)},
                                       {11, chunk("content", "b", "", 1)},
                                       {20, chunk("content", "c", "", 0)},
                                       {22, chunk("content", "d", "", 1)}},
                                      {.choices = 2})
                                .response;
  const std::vector<double> gaps = in_ms(token_gaps(response));
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_NEAR(gaps[0], 10, 1e-9);
  EXPECT_NEAR(gaps[1], 11, 1e-9);
}

TEST(Latency, HiddenTokensHaveNoGaps) {
  const RequestRecord record = record_of({{10, role(usage(20))},
                                          {20, role(usage(40))},
                                          {30, chunk("content", "a", usage(41))},
                                          {35, chunk("content", "b", usage(42))},
                                          {36, finish()}});
  EXPECT_EQ(record.response.tokens.output, 42);
  EXPECT_DOUBLE_EQ(in_ms(latency_of(record).ttft), 30);
  EXPECT_EQ(token_gaps(record.response).size(), 1U);
  EXPECT_DOUBLE_EQ(in_ms(latency_of(record).tpot), 5);
}

TEST(Latency, WhatWasNotMeasuredIsNone) {
  RequestRecord record;
  record.response.is_streamed = false;
  record.response.first_byte = ms(7);
  record.response.first_token = record.response.last_chunk = ms(8);
  const RequestLatency latency = latency_of(record);
  EXPECT_DOUBLE_EQ(in_ms(latency.e2el), 8);
  EXPECT_FALSE(latency.ttft);
  EXPECT_FALSE(latency.tpot);
  const RequestLatency empty = latency_of(record_of({{5, role()}, {6, finish()}}));
  EXPECT_FALSE(empty.ttft);
  EXPECT_FALSE(empty.tpot);
  EXPECT_DOUBLE_EQ(in_ms(empty.e2el), 6);
}

TEST(Latency, BurstsAreSeen) {
  std::vector<Timed> smooth;
  std::vector<Timed> bursty;
  for (int i = 0; i < 40; ++i) {
    smooth.push_back({10.0 * i, chunk("content", "a")});
    bursty.push_back({50.0 * (i / 5) + 0.01 * (i % 5), chunk("content", "a")});
  }
  smooth.push_back({400, finish()});
  bursty.push_back({400, finish()});
  EXPECT_FALSE(find_bursts({record_of(smooth)}).any());
  const Bursts found = find_bursts({record_of(bursty), record_of(bursty), record_of(smooth)});
  EXPECT_TRUE(found.any());
  EXPECT_EQ(found.judged, 3U);
  EXPECT_EQ(found.bursty, 2U);
  EXPECT_DOUBLE_EQ(found.chunks_per_burst, 5);
  EXPECT_FALSE(find_bursts({}).any());
  // Too few gaps to tell.
  EXPECT_EQ(find_bursts({record_of({{1, chunk("content", "a")}, {1, finish()}})}).judged, 0U);
}

/// Any stream with a running count, and the list that vLLM's client would make of it.
struct AnyStream {
  RequestRecord record;
  std::vector<Seconds> listed;
};
AnyStream any_stream() {
  const auto steps = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(1, 5))));
  AnyStream made;
  Response& response = made.record.response;
  Instant at;
  for (const auto& [gap, tokens] : steps) {
    const Seconds wait = Seconds(gap);
    at = at + wait;
    response.chunks.push_back(
        {.at = at, .tokens = static_cast<std::uint32_t>(tokens), .has_answer = true});
    made.listed.push_back(response.chunks.size() == 1 ? Seconds(0) : wait);
    made.listed.insert(made.listed.end(), static_cast<std::size_t>(tokens - 1), Seconds(0));
    response.tokens.output += tokens;
  }
  response.choices = 1;
  response.first_token = response.chunks.front().at;
  response.last_chunk = at;
  return made;
}

RC_GTEST_PROP(LatencyProperty, GapsAddUpToTheTimeBetweenFirstAndLastToken, ()) {
  const AnyStream made = any_stream();
  const Response& response = made.record.response;
  const std::vector<Seconds> gaps = token_gaps(response);
  const Seconds sum = std::accumulate(gaps.begin(), gaps.end(), Seconds(0));
  RC_ASSERT(abs(sum - (response.chunks.back().at - *response.first_token)) < Seconds(1e-9));
  // The mean of the gaps is the TPOT, and no gap is lost: all tokens but those of the first
  // instant.
  std::int64_t first = 0;
  for (const Chunk& chunk : response.chunks)
    first += chunk.at == response.first_token ? chunk.tokens : 0;
  RC_ASSERT(static_cast<std::int64_t>(gaps.size()) == response.tokens.output - first);
  RC_ASSERT(latency_of(made.record).tpot.has_value() == !gaps.empty());
}

RC_GTEST_PROP(LatencyProperty, AListRepairedIsTheSameGaps, ()) {
  const AnyStream made = any_stream();
  const std::vector<Seconds> ours = token_gaps(made.record.response);
  const std::vector<Seconds> theirs = repaired_gaps(made.listed);
  RC_ASSERT(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) RC_ASSERT(abs(ours[i] - theirs[i]) < Seconds(1e-9));
}

}  // namespace
}  // namespace perjoule

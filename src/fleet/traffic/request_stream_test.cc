#include "fleet/traffic/request_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace perjoule {
namespace {

std::vector<FleetRequest> all_of(RequestStream& stream) {
  std::vector<FleetRequest> all;
  for (;;) {
    const auto request = stream.next();
    EXPECT_TRUE(request) << request.error().text();
    if (!request || !*request) return all;
    if (!all.empty()) {
      EXPECT_GE((*request)->arrival, all.back().arrival);
    }
    all.push_back(**request);
  }
}

constexpr std::string_view kHead = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

TEST(RequestStreamTest, ATraceAsItIs) {
  const std::string text = std::string(kHead) +
                           "2024-05-10 00:00:00,1,10\n2024-05-10 00:00:59.5,2,20\n"
                           "2024-05-10 00:05:00,3,30";
  const auto stream = replayed(AzureTrace::of_text(text, "t").value(), {});
  const auto all = all_of(*stream);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_NEAR(all[1].arrival.value(), 59.5, 1e-9);
  EXPECT_EQ(all[2].arrival, Seconds(300));
  EXPECT_EQ(all[2].prompt, 3);
  EXPECT_EQ(all[2].output, 30);
  EXPECT_FALSE(*stream->next());
}

TEST(RequestStreamTest, CopiesStayInTheirMinute) {
  const std::string text = std::string(kHead) +
                           "2024-05-10 00:00:30,1,10\n2024-05-10 00:00:31,2,20\n"
                           "2024-05-10 00:01:40,3,30";
  const auto stream = replayed(AzureTrace::of_text(text, "t").value(), {.copies = 10});
  const auto all = all_of(*stream);
  ASSERT_EQ(all.size(), 30U);
  for (const FleetRequest& one : all) {
    const double minute = one.prompt == 3 ? 60 : 0;
    EXPECT_GE(one.arrival.value(), minute);
    EXPECT_LT(one.arrival.value(), minute + 60);
  }
  const auto again = replayed(AzureTrace::of_text(text, "t").value(), {.copies = 10});
  EXPECT_EQ(all_of(*again)[7].arrival, all[7].arrival);
  const auto other = replayed(AzureTrace::of_text(text, "t").value(), {.copies = 10, .seed = 2});
  EXPECT_NE(all_of(*other)[0].arrival, all[0].arrival);
}

TEST(RequestStreamTest, OutOfOrderIsSortedInOrComesLateAndIsCounted) {
  const std::string text = std::string(kHead) +
                           "2024-05-10 00:00:00,1,1\n2024-05-10 00:00:40,2,1\n"
                           "2024-05-10 00:00:20,3,1\n2024-05-10 00:03:00,4,1\n"
                           "2024-05-10 00:00:50,5,1\n";
  const auto stream = replayed(AzureTrace::of_text(text, "t").value(), {});
  const auto all = all_of(*stream);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[1].prompt, 3);  // sorted in
  EXPECT_EQ(all[1].arrival, Seconds(20));
  EXPECT_EQ(stream->out_of_order(), 2U);
  // Of a minute that was over: none is lost, and none comes before what was issued.
  EXPECT_GE(all[3].arrival, Seconds(40));
}

TEST(RequestStreamTest, AnErrorOfTheTraceComesThrough) {
  const std::string text = std::string(kHead) + "2024-05-10 00:00:00,1,1\nyesterday,1,1\n";
  const auto stream = replayed(AzureTrace::of_text(text, "t").value(), {});
  const auto first = stream->next();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().message, "t: line 3: no instant and two counts of tokens");
}

TEST(RequestStreamTest, DrawnOnesKeepTheCurvesRate) {
  const std::vector<RateBin> bins = {{Seconds(0), Seconds(1000), Hertz(20)},
                                     {Seconds(1000), Seconds(2000), Hertz(0)},
                                     {Seconds(2000), Seconds(3000), Hertz(5)}};
  const auto stream = drawn(bins, {{100, 10, {}}, {300, 30, {}}}, 7);
  const auto all = all_of(*stream);
  double first = 0;
  double last = 0;
  double prompts = 0;
  for (const FleetRequest& one : all) {
    EXPECT_TRUE(one.arrival < Seconds(1000) || one.arrival >= Seconds(2000));
    (one.arrival < Seconds(1000) ? first : last) += 1;
    prompts += static_cast<double>(one.prompt);
  }
  EXPECT_NEAR(first, 20'000, 4 * std::sqrt(20'000));
  EXPECT_NEAR(last, 5'000, 4 * std::sqrt(5'000));
  EXPECT_NEAR(prompts / static_cast<double>(all.size()), 200, 3);
}

}  // namespace
}  // namespace perjoule

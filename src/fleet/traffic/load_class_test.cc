#include "fleet/traffic/load_class.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/test_data.h"
#include "workload/azure_trace.h"

namespace perjoule {
namespace {

TEST(LoadClassTest, BoundsBelongToTheLongerClass) {
  EXPECT_EQ(input_class(255), 0U);
  EXPECT_EQ(input_class(256), 1U);
  EXPECT_EQ(input_class(1024), 2U);
  EXPECT_EQ(output_class(99), 0U);
  EXPECT_EQ(output_class(100), 1U);
  EXPECT_EQ(output_class(350), 2U);
  EXPECT_EQ(output_bound(0), 100);
  EXPECT_EQ(output_bound(2), std::nullopt);
}

TEST(LoadClassTest, NamesAndLevels) {
  for (std::size_t i = 0; i < kLoadClasses; ++i) {
    const auto one = static_cast<LoadClass>(i);
    EXPECT_EQ(class_named(name_of_class(one)), one);
    EXPECT_TRUE(dominates(one, one));
    EXPECT_TRUE(dominates(load_class(2, 2), one));
  }
  EXPECT_EQ(name_of_class(load_class(1, 2)), "ML");
  EXPECT_EQ(class_named("lx"), std::nullopt);
  EXPECT_FALSE(dominates(load_class(1, 2), load_class(2, 0)));
  EXPECT_EQ(dynamo_levels()[load_class(1, 0)].first_token, Seconds(0.4));
  EXPECT_EQ(dynamo_levels()[load_class(2, 0)].between_tokens, Seconds(0.1));
}

TEST(LoadClassTest, SharesInAzuresTracesOf2023) {
  const std::array<std::array<double, kLoadClasses>, 2> shares = {
      {{15.44, 0.51, 0.10, 20.74, 1.01, 0.06, 59.44, 2.35, 0.35},
       {3.58, 9.80, 0.05, 19.00, 10.41, 7.74, 15.09, 8.77, 25.56}}};
  const std::array<const char*, 2> files = {"code", "conv"};
  for (std::size_t i = 0; i < files.size(); ++i) {
    PJ_TEST_DATA(path, std::string("azure_llm_2023/AzureLLMInferenceTrace_") + files[i] + ".csv");
    const auto trace = lengths_of_azure_trace(read_file(path).value(), path);
    ASSERT_TRUE(trace);
    std::array<double, kLoadClasses> counts = {};
    for (const TokenLengths& one : *trace)
      counts[load_class(input_class(one.prompt), output_class(one.output))] += 1;
    for (std::size_t c = 0; c < kLoadClasses; ++c) {
      EXPECT_NEAR(100 * counts[c] / static_cast<double>(trace->size()), shares[i][c], 0.005)
          << files[i] << " " << name_of_class(static_cast<LoadClass>(c));
    }
  }
}

}  // namespace
}  // namespace perjoule

#include "workload/azure_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/file.h"
#include "base/test_data.h"

namespace perjoule {
namespace {

TEST(AzureTraceTest, ThoseOfBothYears) {
  const auto trace = lengths_of_azure_trace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 23:59:59.9799600,4808,10\r\n"
      "2023-11-17 00:00:01.0319600,3180,8\r\n"
      "2024-02-29 00:00:00+00:00,0,0",
      "trace.csv");
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->size(), 3U);
  EXPECT_EQ((*trace)[0].prompt, 4808);
  EXPECT_EQ((*trace)[0].output, 10);
  EXPECT_EQ((*trace)[0].arrival, Seconds(0));
  EXPECT_NEAR((*trace)[1].arrival->value(), 1.052, 1e-9);
  EXPECT_NEAR((*trace)[2].arrival->value(), 104 * 86400.0 + 0.02004, 1e-6);
}

TEST(AzureTraceTest, StampsAndCountsThatAreNone) {
  for (const std::string row :
       {"2023-13-16 18:17:03.9,1,1", "2023-02-30 18:17:03.9,1,1", "2023-11-16 24:17:03,1,1",
        "2023-11-16 18:17,1,1", "2023-11-16 18:17:03.,1,1", "2023-11-16 18:17:03+2,1,1",
        "yesterday,1,1", "2023-11-16 18:17:03,1.5,1", "2023-11-16 18:17:03,1,-1"}) {
    const auto trace =
        lengths_of_azure_trace("TIMESTAMP,ContextTokens,GeneratedTokens\n" + row, "trace.csv");
    ASSERT_FALSE(trace) << row;
    EXPECT_EQ(trace.error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(trace.error().message, "trace.csv: line 2: no instant and two counts of tokens");
  }
  EXPECT_FALSE(lengths_of_azure_trace("TIMESTAMP,ContextTokens\n", "trace.csv"));
  EXPECT_FALSE(lengths_of_azure_trace("", "trace.csv"));
}

TEST(AzureTraceTest, AFileIsReadAsItsTextIs) {
  std::string text = "GeneratedTokens,More,TIMESTAMP,ContextTokens\n";
  // Beyond a buffer, so that lines lie across two of them.
  for (int i = 0; i < 20'000; ++i) {
    text += std::to_string(i) + ",x,2024-05-10 00:" + (i < 10'000 ? "00" : "59") + ":00.5," +
            std::to_string(2 * i) + (i % 2 == 0 ? "\r\n" : "\n");
  }
  text.pop_back();
  const std::string path = testing::TempDir() + "/trace.csv";
  ASSERT_TRUE(write_file_atomically(path, text));
  auto trace = AzureTrace::open(path);
  ASSERT_TRUE(trace) << trace.error().text();
  const auto whole = lengths_of_azure_trace(text, "trace.csv");
  ASSERT_TRUE(whole) << whole.error().text();
  ASSERT_EQ(whole->size(), 20'000U);
  for (const TokenLengths& wanted : *whole) {
    const auto got = trace->next();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ((*got)->prompt, wanted.prompt);
    EXPECT_EQ((*got)->output, wanted.output);
    EXPECT_EQ((*got)->arrival, wanted.arrival);
  }
  EXPECT_EQ(trace->line(), 20'001U);
  EXPECT_FALSE(*trace->next());
  EXPECT_EQ(whole->back().arrival, Seconds(59 * 60));
}

TEST(AzureTraceTest, AFileThatIsNoTrace) {
  EXPECT_FALSE(AzureTrace::open("/nowhere/trace.csv"));
  auto endless = AzureTrace::open("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_NE(endless.error().message.find("no end in sight"), std::string::npos);
}

TEST(AzureTraceTest, TheWholeTracesOf2023) {
  struct Case {
    const char* file;
    std::size_t requests;
    double span;
    std::int64_t prompts;
    std::int64_t outputs;
  };
  for (const Case& one : {Case{"code", 8'819, 3'435.948, 18'059'974, 245'896},
                          Case{"conv", 19'366, 3'501.722, 22'361'870, 4'088'665}}) {
    PJ_TEST_DATA(path, std::string("azure_llm_2023/AzureLLMInferenceTrace_") + one.file + ".csv");
    const auto trace = lengths_of_azure_trace(read_file(path).value(), path);
    ASSERT_TRUE(trace) << trace.error().text();
    EXPECT_EQ(trace->size(), one.requests);
    std::int64_t prompts = 0;
    std::int64_t outputs = 0;
    Seconds last;
    for (const TokenLengths& request : *trace) {
      prompts += request.prompt;
      outputs += request.output;
      last = std::max(last, *request.arrival);
    }
    EXPECT_EQ(prompts, one.prompts);
    EXPECT_EQ(outputs, one.outputs);
    EXPECT_NEAR(last.value(), one.span, 1e-3);
  }
}

}  // namespace
}  // namespace perjoule

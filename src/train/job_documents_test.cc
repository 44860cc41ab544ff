#include "train/job_documents.h"

#include <gtest/gtest.h>

#include <cmath>

namespace perjoule {
namespace {

Json parsed(const std::string& text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json) << text;
  return json ? *json : Json();
}

std::string refusal(const std::string& text) {
  const auto read = read_definition("nightly", parsed(text));
  return read ? "" : read.error().message;
}

TEST(JobDocumentsTest, ADefinitionReadsBackAsItWasWritten) {
  JobDefinition definition;
  definition.name = "nightly";
  definition.spec.batch_sizes = {32, 64};
  definition.spec.default_batch = 64;
  definition.spec.beta = INFINITY;
  definition.spec.prior = {.noise = Joules(5), .mean = Joules(7), .deviation = Joules(2)};
  definition.target = 0.84;
  definition.max_power = Watts(700);
  definition.higher_is_better = false;
  definition.seed = 12;
  const Json document = definition_document(definition);
  const auto read = read_definition("nightly", document);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(definition_document(*read), document);
  EXPECT_EQ(read->name, "nightly");
  EXPECT_TRUE(std::isinf(read->spec.beta));
  EXPECT_EQ(read->spec.prior.noise->value(), 5);
}

TEST(JobDocumentsTest, WhatIsLeftOutIsAsUsual) {
  const auto read = read_definition(
      "a", parsed(R"({"batch_sizes":[64,32],"default_batch":64,"target":1,"max_power_w":300})"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->spec.batch_sizes, (std::vector<int>{32, 64}));
  EXPECT_EQ(read->spec.beta, 2);
  EXPECT_EQ(read->policy, "perjoule");
  EXPECT_EQ(read->most_epochs, 100);
  EXPECT_FALSE(read->spec.prior.noise);
  EXPECT_FALSE(read->spec.prior.deviation);
}

TEST(JobDocumentsTest, WhatIsNoDefinitionIsNamed) {
  const std::string begin = R"({"batch_sizes":[64],"default_batch":64,"target":1)";
  EXPECT_EQ(refusal("[]"), "a definition is a JSON object");
  EXPECT_EQ(refusal(begin + "}"), "\"max_power_w\" is missing");
  EXPECT_EQ(refusal(begin + R"(,"max_power_w":1,"speed":2})"),
            "a job's definition has no member \"speed\"");
  EXPECT_EQ(refusal(begin + R"(,"max_power_w":1,"name":"b"})"),
            "a job's definition has no member \"name\"");
  for (const char* const wrong :
       {R"("max_power_w":"1")", R"("max_power_w":1,"seed":-1)", R"("max_power_w":1,"seed":1.5)",
        R"("max_power_w":1,"window":1e300)", R"("max_power_w":1,"policy":3)",
        R"("max_power_w":null)", R"("max_power_w":1,"higher_is_better":1)"}) {
    EXPECT_NE(refusal(begin + "," + wrong + "}").find("cannot be"), std::string::npos) << wrong;
  }
  EXPECT_NE(refusal(R"({"batch_sizes":[64,-1]})").find("cannot be"), std::string::npos);
  EXPECT_NE(refusal(begin + R"(,"max_power_w":1,"prior_cost_j":1})").find("go together"),
            std::string::npos);
}

TEST(JobDocumentsTest, AReportReadsBackAndADivergedMetricIsNull) {
  TrialReport report{7, {3, Joules(4.2e6), Seconds(5700), 0.81}};
  const auto read = read_report(report_document(report));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->trial, 7);
  EXPECT_EQ(read->progress.epochs, 3);
  EXPECT_EQ(read->progress.energy.value(), 4.2e6);
  EXPECT_EQ(read->progress.metric, 0.81);
  report.progress.metric = NAN;
  const Json diverged = report_document(report);
  EXPECT_TRUE(diverged.find("metric")->is_null());
  EXPECT_TRUE(std::isnan(read_report(diverged)->progress.metric));
  for (const char* const wrong :
       {"[]", "{}", R"({"trial":1,"epochs":1,"energy_j":1,"time_s":1})",
        R"({"trial":"1","epochs":1,"energy_j":1,"time_s":1,"metric":1})",
        R"({"trial":1,"epochs":1.5,"energy_j":1,"time_s":1,"metric":1})",
        R"({"trial":1,"epochs":1,"energy_j":1,"time_s":1,"metric":1,"more":1})"}) {
    EXPECT_FALSE(read_report(parsed(wrong))) << wrong;
  }
}

}  // namespace
}  // namespace perjoule

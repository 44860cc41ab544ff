#include "fleet/profile/read_profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_data.h"
#include "fleet/profile/profile_builder.h"
#include "fleet/profile/profile_table.h"

namespace perjoule {
namespace {

const std::string kBeamHeader =
    "clock,tp,pp,tps,gpu_power,ttft_mean,tbt_mean,ttft_p99,tbt_p90,ttft_std,tbt_std\n";

Result<ServingProfile> read_beam(const std::string& rows, const std::string& name,
                                 const BeamNames& names = {}) {
  const auto table = parse_csv(kBeamHeader + rows, name);
  EXPECT_TRUE(table) << table.error().text();
  return read_beam_profile(*table, names);
}

TEST(BeamProfileTest, NamesStandInTheFilesName) {
  const BeamNames one =
      beam_names("a/dynamo_dvfs_profile_A100-SXM4-80GB_meta-llama_Llama-3.3-70B-Instruct.csv");
  EXPECT_EQ(one.gpu, "A100-SXM4-80GB");
  EXPECT_EQ(one.model, "meta-llama/Llama-3.3-70B-Instruct");
  const BeamNames two = beam_names("dynamo_dvfs_profile_A100_80GB_PCIe_Qwen_Qwen2.5-14B.csv");
  EXPECT_EQ(two.gpu, "A100_80GB_PCIe");
  EXPECT_EQ(two.model, "Qwen/Qwen2.5-14B");
  EXPECT_EQ(beam_names("profile.csv").gpu, "");
  EXPECT_EQ(beam_names("dynamo_dvfs_profile_A100_somebody_model.csv").model, "");
}

TEST(BeamProfileTest, FiguresAreOthersMeasurements) {
  const auto profile = read_beam("600,2,4,600,921.5,1061.5,138.25,3416.5,233.5,1,2\n",
                                 "dynamo_dvfs_profile_A100_Qwen_Q.csv");
  ASSERT_TRUE(profile) << profile.error().text();
  const ProfileCurve& curve = profile->curves.front();
  EXPECT_EQ(curve.status, Status::kReconstructed);
  EXPECT_NE(curve.origin.find("BEAM artifact 0febb08"), std::string::npos);
  EXPECT_EQ(curve.points.front().power.value(), 921.5);
  EXPECT_EQ(curve.points.front().ttft[LatencyStatistic::kP99].value(), 3.4165);
  EXPECT_TRUE(std::isnan(curve.points.front().tbt[LatencyStatistic::kP99].value()));
}

TEST(BeamProfileTest, WhatTheNameDoesNotTellIsAskedFor) {
  const std::string row = "600,2,4,600,921.5,1061.5,138.25,3416.5,233.5,1,2\n";
  EXPECT_EQ(read_beam(row, "p.csv").error().code, ErrorCode::kInvalidArgument);
  const auto named = read_beam(row, "p.csv", {"H100", "m"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->curves.front().layout, (InstanceLayout{"m", "H100", 2, 4}));
  EXPECT_EQ(read_beam(row + row, "p.csv", {"H100", "m"}).error().code, ErrorCode::kInvalidArgument);
  const auto bad = read_beam("600,2,4,600,-1,1,1,1,1,1,2\n", "p.csv", {"H100", "m"});
  EXPECT_NE(bad.error().text().find("p.csv: line 2, column 'gpu_power'"), std::string::npos);
}

BenchResult any_result() {
  BenchResult r;
  r.benchmark = "vllm bench serve";
  r.model.id = "m";
  r.gpus = {"H100", "", 2};
  r.parallel.tensor = 2;
  r.rates.responses = 2;
  r.lengths.mean_input = 500;
  r.power = Watts(900);
  r.latency.ttft.mean = Seconds(0.25);
  r.latency.ttft.p99 = Seconds(0.75);
  r.latency.itl.p90 = Seconds(0.03);
  r.origin.file = "r.json";
  r.settings.set("clock", "1410 MHz");
  return r;
}

TEST(BenchProfileTest, AResultIsAPoint) {
  BenchResult second = any_result();
  second.rates.responses = 1;
  const auto profile = profile_of_results({any_result(), second}, {});
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->curves.size(), 1U);
  const ProfileCurve& curve = profile->curves.front();
  EXPECT_EQ(curve.layout, (InstanceLayout{"m", "H100", 2, 1}));
  EXPECT_EQ(curve.clock_mhz, 1410);
  EXPECT_EQ(curve.status, Status::kReconstructed);
  ASSERT_EQ(curve.points.size(), 2U);
  EXPECT_EQ(curve.points[1].load, 1000);
  EXPECT_EQ(curve.points[1].ttft[LatencyStatistic::kP99].value(), 0.75);
  EXPECT_TRUE(std::isnan(curve.points[1].tbt[LatencyStatistic::kMean].value()));
}

TEST(BenchProfileTest, OtherWaysToTellTheLoad) {
  BenchResult r = any_result();
  r.rates.responses.reset();
  r.totals.input_tokens = 6000;
  r.totals.duration = Seconds(10);
  EXPECT_EQ(profile_of_results({r}, {})->curves.front().points.front().load, 600);
  r.totals = {};
  r.rates.total_tokens = 900;
  r.rates.output_tokens = 200;
  EXPECT_EQ(profile_of_results({r}, {})->curves.front().points.front().load, 700);
}

TEST(BenchProfileTest, WhatCannotBeMappedSaysWhatToDo) {
  const auto error = [](const BenchResult& r, const BenchProfileOptions& options = {}) {
    const auto profile = profile_of_results({r}, options);
    return profile ? std::string() : profile.error().text();
  };
  BenchResult r = any_result();
  r.settings = {};
  EXPECT_NE(error(r).find("r.json: nothing tells the clock"), std::string::npos) << error(r);
  EXPECT_EQ(error(r, {.clock_mhz = 1200.0}), "");
  EXPECT_NE(error(any_result(), {.clock_mhz = 1200.0}).find("1200"), std::string::npos);
  r = any_result();
  r.parallel.tensor.reset();
  EXPECT_NE(error(r).find("--tp"), std::string::npos) << error(r);
  EXPECT_EQ(error(r, {.tensor_parallel = 2}), "");
  EXPECT_NE(error(r, {.tensor_parallel = 1, .pipeline_parallel = 1}).find("one instance"),
            std::string::npos);
  r = any_result();
  r.power.reset();
  EXPECT_NE(error(r).find("bench join"), std::string::npos);
  r = any_result();
  r.lengths.mean_input.reset();
  EXPECT_NE(error(r).find("prompt tokens"), std::string::npos);
  r = any_result();
  r.validity.push_back("void");
  EXPECT_NE(error(r).find("no benchmark result"), std::string::npos);
}

class ReadProfile : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(write_file_atomically(path, text));
    return path;
  }
  void SetUp() override {
    folder_ = testing::TempDir() + "/read_profile_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    ASSERT_TRUE(make_folders(folder_));
  }
  std::string folder_;
};

TEST_F(ReadProfile, TellsFilesByWhatStandsInThem) {
  const auto beam = read_serving_profile(
      write("dynamo_dvfs_profile_A100_Qwen_Q.csv", kBeamHeader + "800,1,1,400,100,1,1,1,1,0,0\n"),
      {});
  ASSERT_TRUE(beam) << beam.error().text();
  const auto ours = read_serving_profile(write("ours.csv", profile_csv(*beam)), {});
  ASSERT_TRUE(ours) << ours.error().text();
  EXPECT_EQ(profile_csv(*ours), profile_csv(*beam));
  EXPECT_EQ(read_serving_profile(write("none.csv", "a,b\n1,2\n"), {}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_serving_profile(write("none.json", "{}"), {}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_serving_profile(folder_ + "/missing", {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(join_profiles({*beam, *ours}).error().code, ErrorCode::kInvalidArgument);
}

TEST(ReadProfileGolden, BeamsFourTables) {
  PJ_TEST_DATA(path, "serving/dvfs_profiles/dynamo_dvfs_profile_RTX_A6000_Qwen_Qwen2.5-14B.csv");
  const auto profile = read_serving_profile(path, {});
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->curves.size(), 6U);
  EXPECT_EQ(profile->curves.front().layout,
            (InstanceLayout{"Qwen/Qwen2.5-14B", "RTX_A6000", 1, 4}));
  EXPECT_TRUE(profile->notes.empty());
  EXPECT_TRUE(check_profile(*profile));
}

}  // namespace
}  // namespace perjoule

#include "train/trace.h"

#include <gtest/gtest.h>

#include "base/test_data.h"
#include "device/temp_tree.h"

namespace perjoule {
namespace {

constexpr const char* kTraining =
    "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch\n"
    "d,n,32,adam,0.1,1,0.5,7\n"
    "d,n,32,adam,0.1,2,0.5,\n"
    "d,n,64,adam,0.1,1,0.5,9\n"
    "d,n,64,adam,0.1,1,0.6,nan\n"
    "d,n,128,adam,0.1,1,0.5,11\n";
constexpr const char* kPower =
    "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
    "d,n,32,adam,100,12,90\n"
    "d,n,32,adam,150,10,140\n"
    "d,n,64,adam,150,8,145\n"
    "x,n,64,adam,300,8,145\n";

Workload workload() { return {"w", "d", "n", "adam", 0.5, 20, 128}; }

class TraceTest : public testing::Test {
 protected:
  Result<WorkloadTrace> load(const std::string& training, const std::string& power) {
    tree_.write_bytes("summary_train.csv", training);
    tree_.write_bytes("summary_power_gpu.csv", power);
    PJ_TRY(const TraceTables tables, TraceTables::read(tree_.path(), "gpu"));
    return tables.select(workload());
  }
  TempTree tree_;
};

TEST_F(TraceTest, JoinsRunsAndLimitsByBatchSize) {
  const auto trace = load(kTraining, kPower);
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->batches.size(), 2U);  // 128 has no limits
  EXPECT_EQ(trace->batches[0].epochs, (std::vector<std::optional<int>>{7, std::nullopt}));
  EXPECT_EQ(trace->batches[0].limits[0].limit, Watts(150));  // the highest first
  EXPECT_EQ(trace->batches[1].epochs, (std::vector<std::optional<int>>{9}));
  EXPECT_EQ(trace->max_power, Watts(300));       // over all workloads of the GPU
  EXPECT_EQ(trace->workload.default_batch, 64);  // lowered to the largest recorded
  EXPECT_EQ(trace->index_of(64), 1U);
  EXPECT_EQ(trace->index_of(48), std::nullopt);
}

TEST_F(TraceTest, WhatIsNotRecordedIsSaid) {
  const auto lowered = load(kTraining, kPower);
  ASSERT_TRUE(lowered);
  ASSERT_EQ(lowered->notes.size(), 3U);
  EXPECT_NE(lowered->notes[0].find("128 is not recorded: 64"), std::string::npos);
  EXPECT_NE(lowered->notes[1].find("64 is not recorded at 300 W"), std::string::npos);
  EXPECT_NE(lowered->notes[1].find("150 W is taken"), std::string::npos);
  EXPECT_NE(lowered->notes[2].find("64 (100 W)"), std::string::npos);
  const std::string whole =
      "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
      "d,n,64,adam,100,12,90\nd,n,64,adam,150,10,140\n"
      "d,n,128,adam,100,12,90\nd,n,128,adam,150,10,140\n";
  EXPECT_TRUE(load(kTraining, whole)->notes.empty());
}

TEST_F(TraceTest, MistakesNameFileAndLine) {
  const std::string power = kPower;
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  for (const Case& wrong : {Case{"150,8,145", "150,-8,145", "line 4, column 'time_per_epoch'"},
                            Case{"100,12,90", "100,12,none", "line 2, column 'average_power'"},
                            Case{"100,12,90", "150,12,90", "two rows for 150 W"},
                            Case{"power_limit", "limit", "no column 'power_limit'"}}) {
    std::string text = power;
    text.replace(text.find(wrong.from), std::string(wrong.from).size(), wrong.to);
    const auto trace = load(kTraining, text);
    ASSERT_FALSE(trace) << wrong.to;
    EXPECT_NE(trace.error().message.find(wrong.message), std::string::npos)
        << trace.error().message;
  }
}

TEST_F(TraceTest, AWorkloadThatIsNotRecordedIsNamed) {
  tree_.write_bytes("summary_train.csv", kTraining);
  tree_.write_bytes("summary_power_gpu.csv", kPower);
  const auto tables = TraceTables::read(tree_.path(), "gpu");
  ASSERT_TRUE(tables);
  Workload other = workload();
  other.network = "m";
  const auto trace = tables->select(other);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(TraceTables::read(tree_.path(), "absent"));
}

TEST_F(TraceTest, ATableWithoutWorkloadsIsRefused) {
  tree_.write("w.csv", "name,dataset,network,optimizer,target,most_epochs,default_batch");
  const auto workloads = read_workloads(tree_ / "w.csv");
  ASSERT_FALSE(workloads);
  EXPECT_NE(workloads.error().message.find("no workload in it"), std::string::npos);
}

TEST(ZeusWorkloads, AreSixAndAreRecordedForEveryGpu) {
  ASSERT_EQ(zeus_workloads().size(), 6U);
  PJ_TEST_DATA(file, "zeus_nsdi23/summary_train.csv");
  const std::string folder = file.substr(0, file.rfind('/'));
  for (const char* gpu : {"v100", "a40", "rtx6000", "p100"}) {
    const auto tables = TraceTables::read(folder, gpu);
    ASSERT_TRUE(tables) << tables.error().text();
    for (const Workload& workload : zeus_workloads()) {
      const auto trace = tables->select(workload);
      ASSERT_TRUE(trace) << trace.error().text();
      EXPECT_FALSE(trace->batches.empty());
    }
  }
}

}  // namespace
}  // namespace perjoule

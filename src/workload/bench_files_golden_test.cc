// The readers against the published data of the ML.ENERGY leaderboard: counts, identities, names.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/test_data.h"
#include "workload/bench_files.h"
#include "workload/bench_identities.h"

namespace perjoule {
namespace {

struct Counts {
  std::size_t rows = 0;
  std::size_t h100 = 0;
  std::size_t b200 = 0;
  std::set<std::string> models;
};

TEST(BenchFilesGolden, CountsOfTheThirdGeneration) {
  PJ_TEST_DATA(index, "mlenergy_leaderboard/index.json");
  const auto files = read_bench_files({index.substr(0, index.rfind('/'))}, {});
  ASSERT_TRUE(files) << files.error().text();
  std::map<std::string, Counts> tasks;
  Counts all;
  for (const BenchResult& r : files->results) {
    EXPECT_TRUE(r.validity.empty()) << text_of(r.origin) << ": " << r.validity.front();
    if (r.benchmark != "ML.ENERGY v3") continue;
    for (Counts* counts : {&tasks[r.task], &all}) {
      ++counts->rows;
      counts->h100 += r.gpus.model == "H100" ? 1 : 0;
      counts->b200 += r.gpus.model == "B200" ? 1 : 0;
      counts->models.insert(r.model.id);
    }
    EXPECT_FALSE(r.model.nickname.empty());
    EXPECT_FALSE(r.model.precision.empty());
    EXPECT_EQ(r.lengths.outputs.has_value(), r.kind == BenchKind::kText);
  }
  const auto expect = [&](const std::string& task, std::size_t rows, std::size_t models,
                          std::size_t h100, std::size_t b200) {
    EXPECT_EQ(tasks[task].rows, rows) << task;
    EXPECT_EQ(tasks[task].models.size(), models) << task;
    EXPECT_EQ(tasks[task].h100, h100) << task;
    EXPECT_EQ(tasks[task].b200, b200) << task;
  };
  expect("lm-arena-chat", 328, 18, 177, 151);
  expect("gpqa", 187, 12, 81, 106);
  expect("sourcegraph-fim", 50, 3, 16, 34);
  expect("image-chat", 173, 11, 92, 81);
  expect("video-chat", 100, 6, 39, 61);
  expect("text-to-image", 638, 7, 311, 327);
  expect("text-to-video", 382, 5, 172, 210);
  EXPECT_EQ(all.rows, 1858U);
  EXPECT_EQ(all.models.size(), 46U);
  EXPECT_EQ(all.h100, 888U);
  EXPECT_EQ(all.b200, 970U);
  // The index, seven tasks, 62 models and two tables; not what we worked out of them, nor the
  // README.
  EXPECT_EQ(files->read, 72U);
}

TEST(BenchFilesGolden, IdentitiesOfTheThirdGeneration) {
  PJ_TEST_DATA(index, "mlenergy_leaderboard/index.json");
  const std::string folder = index.substr(0, index.rfind('/'));
  const auto files = read_bench_files({folder + "/tasks"}, {});
  ASSERT_TRUE(files) << files.error().text();
  double lowest = 1e9;
  double highest = 0;
  for (const BenchResult& r : files->results) {
    const auto errors = identity_errors(r);
    EXPECT_EQ(errors.size(), 2U) << text_of(r.origin);
    for (const IdentityError& error : errors)
      EXPECT_LE(error.relative, 1e-12) << text_of(r.origin) << ": " << error.identity;
    if (r.kind != BenchKind::kText) continue;
    lowest = std::min(lowest, unit_energy(r)->joules.value());
    highest = std::max(highest, unit_energy(r)->joules.value());
  }
  EXPECT_NEAR(lowest, 0.02845, 5e-6);
  EXPECT_NEAR(highest, 34.33, 5e-3);
}

TEST(BenchFilesGolden, CountsOfTheSecondGeneration) {
  PJ_TEST_DATA(llm, "mlenergy_leaderboard/v2/llm.csv");
  const auto files = read_bench_files({llm.substr(0, llm.rfind('/'))}, {});
  ASSERT_TRUE(files) << files.error().text();
  Counts text;
  Counts media;
  for (const BenchResult& r : files->results) {
    Counts& counts = r.kind == BenchKind::kText ? text : media;
    ++counts.rows;
    counts.models.insert(r.model.id);
    EXPECT_TRUE(r.gpus.model == "H100" || r.gpus.model == "A100-40GB") << r.gpus.model;
    EXPECT_TRUE(r.validity.empty());
  }
  EXPECT_EQ(text.rows, 356U);
  EXPECT_EQ(text.models.size(), 29U);
  EXPECT_EQ(media.rows, 118U);
  EXPECT_EQ(media.models.size(), 13U);
}

}  // namespace
}  // namespace perjoule

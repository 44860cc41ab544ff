#include "meter/ranks.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "base/energy_json.h"

namespace perjoule {
namespace {

Json part(const std::string& host, double begin, double end, double watts, const std::string& gpu) {
  Json run = Json::object();
  run["host"] = host;
  run["begin_unix_ns"] = static_cast<std::int64_t>(begin * 1e9);
  run["duration_s"] = end - begin;
  run["sources"] = Json::array();
  for (const std::string& id : {gpu, std::string("cpu:0/package")}) {
    Json source = Json::object();
    Energy energy;
    energy.joules = Joules(watts * (end - begin));
    energy.status = Status::kMeasured;
    source["id"] = id;
    source["overlaps"] = nullptr;
    source["energy"] = to_json(energy);
    run["sources"].push_back(source);
  }
  return run;
}

double total_of(const Json& merged) { return merged.find("total")->number("joules").value(); }

TEST(Ranks, EachDeviceAndHostIsCountedOnce) {
  // 2 hosts x 8 ranks; each rank sees its own GPU and, like all others there, the package.
  std::vector<Json> parts;
  for (const char* host : {"n1", "n2"}) {
    for (int rank = 0; rank < 8; ++rank)
      parts.push_back(part(host, 100, 110, 50, "gpu:GPU-" + std::to_string(rank)));
  }
  const auto merged = merge_runs(parts);
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_DOUBLE_EQ(total_of(*merged), 2 * (8 + 1) * 500.0);
  EXPECT_EQ(merged->find("sources")->as_array()->size(), 18U);
  EXPECT_EQ(merged->find("hosts")->integer("n1"), 8);
}

TEST(Ranks, SpansThatOverlapInPartCountTheirUnion) {
  const auto merged =
      merge_runs({part("n1", 0, 10, 100, "gpu:a"), part("n1", 6, 16, 100, "gpu:a")});
  EXPECT_DOUBLE_EQ(total_of(*merged), 2 * 1600.0);
  EXPECT_DOUBLE_EQ(merged->number("duration_s").value(), 16);
}

TEST(Ranks, TheUnionOfSteadyPowerIsPowerTimesUnionOfTime) {
  EXPECT_TRUE(rc::check("any spans", [] {
    std::vector<Json> parts;
    std::vector<bool> covered(200);
    for (const auto& [begin, length] : *rc::gen::nonEmpty<std::vector<std::pair<int, int>>>(
             rc::gen::container<std::vector<std::pair<int, int>>>(
                 rc::gen::pair(rc::gen::inRange(0, 100), rc::gen::inRange(1, 90))))) {
      parts.push_back(part("n1", begin, begin + length, 10, "gpu:a"));
      for (int t = begin; t < begin + length; ++t) covered[static_cast<std::size_t>(t)] = true;
    }
    const double seconds = static_cast<double>(std::count(covered.begin(), covered.end(), true));
    RC_ASSERT(std::abs(total_of(*merge_runs(parts)) - 2 * 10 * seconds) < 1e-6);
  }));
}

TEST(Ranks, PartsThatAreNoRunsAreNamed) {
  EXPECT_FALSE(merge_runs({}));
  EXPECT_EQ(merge_runs({part("n1", 0, 1, 1, "g"), Json::object()})
                .error()
                .message.rfind("part 2: not a run", 0),
            0U);
}

TEST(Ranks, TheLaunchersVariablesAreKnown) {
  const auto with = [](std::map<std::string, std::string> variables) {
    return find_rank([variables](const char* name) {
      const auto at = variables.find(name);
      return at == variables.end() ? std::string() : at->second;
    });
  };
  EXPECT_FALSE(with({}));
  EXPECT_FALSE(with({{"SLURM_JOB_ID", "7"}}));  // a batch script, not a rank
  const auto slurm = with({{"SLURM_JOB_ID", "7"},
                           {"SLURM_PROCID", "9"},
                           {"SLURM_LOCALID", "1"},
                           {"SLURM_NTASKS", "16"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->job, "7");
  EXPECT_EQ(slurm->rank, 9);
  EXPECT_EQ(slurm->size, 16);
  const auto inside = with(
      {{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"TORCHELASTIC_RUN_ID", "r"}, {"RANK", "3"}});
  EXPECT_EQ(inside->launcher, "torchrun");
  EXPECT_EQ(inside->rank, 3);
}

TEST(Ranks, ABoundMakesTheJobOneAndAnotherVersionIsRefused) {
  const Json whole = part("n2", 0, 10, 50, "gpu:b");
  Json bound = part("n1", 0, 10, 50, "gpu:a");
  Json frozen = bound.find("sources")->as_array()->front();
  frozen["energy"]["lower_bound"] = true;
  bound["sources"] = Json::array();
  bound["sources"].push_back(frozen);
  EXPECT_EQ(merge_runs({bound, whole})->find("total")->find("lower_bound")->as_bool(), true);
  EXPECT_EQ(merge_runs({whole})->find("total")->find("lower_bound"), nullptr);
  Json newer = whole;
  newer["schema"] = "perjoule.run.v9";
  EXPECT_EQ(merge_runs({whole, newer}).error().code, ErrorCode::kNotSupported);
}
}  // namespace
}  // namespace perjoule

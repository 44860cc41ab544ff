#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/energy_json.h"
#include "base/file.h"
#include "cli/called_verb.h"
#include "cli/runs_view.h"
#include "cli/verbs.h"
#include "store/sqlite_store.h"

namespace perjoule::cli {
namespace {

class RunsVerbs : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/pj_runs_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
    ::setenv("PERJOULE_STATE", folder_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("PERJOULE_STATE");
    std::filesystem::remove_all(folder_);
  }

  Called call(std::vector<std::string> words) {
    words.insert(words.begin(), "runs");
    return call_verb(runs_verbs(), std::move(words));
  }

  /// Two runs, "aaa1" older than "aab2".
  void save_two() {
    auto store = SqliteStore::open(default_store_path(), StoreAccess::kWrite);
    ASSERT_TRUE(store) << store.error().text();
    Energy gpu;
    gpu.joules = Joules(1200);
    gpu.random = Joules(10);
    gpu.source = "gpu:0";
    gpu.status = Status::kMeasured;
    RunRecord run;
    run.id = "aaa1";
    run.started_unix_ns = 1'700'000'000'000'000'000;
    run.duration = Seconds(10);
    run.host = "node";
    run.command = "train\t--epochs 3";
    run.project = "chat";
    run.tags = {"final"};
    run.unit = "step";
    run.document["total"] = to_json(gpu);
    Json sources = Json::array();
    sources.push_back(to_json(gpu));
    sources.push_back(to_json(Energy::missing("cpu:0/package")));
    run.document["sources"] = std::move(sources);
    run.timelines = {{"gpu:0", 1'700'000'000'500'000'000, Seconds(0.1), {119.7F, std::nanf("")}}};
    ASSERT_TRUE((*store)->save_run(run));
    RunRecord bare;
    bare.id = "aab2";
    bare.started_unix_ns = run.started_unix_ns + 1;
    ASSERT_TRUE((*store)->save_run(bare));
  }
  std::string folder_;
};

TEST_F(RunsVerbs, ListIsNewestFirstAndShowsWhatIsMissing) {
  save_two();
  EXPECT_EQ(call({"list"}).output,
            "id    started (UTC)          took             energy  status    project  tags   "
            "command\n"
            "aab2  2023-11-14 22:13:20     0 s                  -  missing\n"
            "aaa1  2023-11-14 22:13:20  10.0 s  1.200 +- 0.020 kJ  measured  chat     final  train "
            "--epochs 3\n");
  EXPECT_EQ(parse_json(call({"list", "--project", "chat", "--json"}).output)
                ->find("runs")
                ->as_array()
                ->size(),
            1U);
  EXPECT_EQ(call({"list", "--last", "many"}).status, kUsage);
}

TEST_F(RunsVerbs, AnEmptyStoreIsAnEmptyList) {
  const Called called = call({"list"});
  EXPECT_EQ(called.status, kDone);
  EXPECT_EQ(called.output, "");
  EXPECT_EQ(call({"list", "--json"}).output,
            "{\n  \"schema\": \"perjoule.runs.v1\",\n  \"runs\": []\n}\n");
  EXPECT_EQ(call({"show", "last"}).status, kUsage);
}

TEST_F(RunsVerbs, ShowListsSourcesWithUncertainty) {
  save_two();
  const Called called = call({"show", "aaa"});
  EXPECT_EQ(called.status, kDone);
  EXPECT_EQ(called.output,
            "run aaa1\n"
            "  command  train --epochs 3\n"
            "  started  2023-11-14 22:13:20 UTC\n"
            "  took     10.00 s\n"
            "  host     node\n"
            "  project  chat\n"
            "  tags     final\n"
            "  unit     step\n"
            "\n"
            "source              energy (k=2)  mean power  status    grade  boundary\n"
            "gpu:0          1.200 +- 0.020 kJ     120.0 W  measured  A      B0\n"
            "cpu:0/package                  -           -  missing   D      B0\n"
            "total          1.200 +- 0.020 kJ     120.0 W  measured  A      B0\n"
            "\n"
            "gpu:0: 2 samples, one every 100 ms\n");
  EXPECT_EQ(call({"show", "aa"}).status, kUsage);
}

TEST_F(RunsVerbs, DeleteLooksUpAllWordsFirst) {
  save_two();
  EXPECT_EQ(call({"delete", "last", "nonsense"}).status, kUsage);
  EXPECT_EQ(call({"delete", "last", "last~1", "aaa1"}).output, "deleted aab2\ndeleted aaa1\n");
  EXPECT_EQ(call({"list"}).output, "");
}

TEST_F(RunsVerbs, ExportWritesSamples) {
  save_two();
  EXPECT_EQ(call({"export", "aaa1", "--format", "csv"}).output,
            "run,source,unix_s,watts\n"
            "aaa1,gpu:0,1700000000.500000000,119.7\n"
            "aaa1,gpu:0,1700000000.600000000,\n");
  const std::string file = folder_ + "/out.json";
  EXPECT_EQ(call({"export", "last", "last~1", "-o", file}).status, kDone);
  const auto document = parse_json(*read_file(file));
  ASSERT_TRUE(document);
  const Json& run = (*document->find("runs")->as_array())[1];
  EXPECT_TRUE((*run.find("timelines")->as_array())[0].find("watts")->as_array()->back().is_null());
  EXPECT_EQ(run.find("document")->find("total")->number("joules"), 1200);
  EXPECT_EQ(call({"export", "last", "--format", "xml"}).status, kUsage);
  EXPECT_EQ(call({"export", "last", "-o", "/nonexistent/x"}).status, kUsage);
}

TEST_F(RunsVerbs, ShowTellsTheNotesAndWhatIsOnlyALowerBound) {
  Energy gpu;
  gpu.joules = Joules(944);
  gpu.random = Joules(120);
  gpu.source = "gpu:0";
  gpu.status = Status::kMeasured;
  gpu.lower_bound = true;
  RunRecord run;
  run.id = "aaa1";
  run.duration = Seconds(10);
  Json source = Json::object();
  source["id"] = "gpu:0";
  source["energy"] = to_json(gpu);
  source["notes"] = Json::array();
  source["notes"].push_back("lost 8.50 s before the end (unavailable): lower bound");
  run.document["sources"] = Json::array();
  run.document["sources"].push_back(source);
  run.document["total"] = to_json(gpu);
  run.document["notes"] = Json::array();
  run.document["notes"].push_back("the machine slept");
  const std::string text = run_text(run);
  EXPECT_NE(text.find("gpu:0   at least 944 J  at least 94.40 W  measured  D"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nnote: gpu:0 lost 8.50 s before the end (unavailable): lower bound\n"
                      "note: the machine slept\n"),
            std::string::npos)
      << text;
  EXPECT_NE(runs_table({run}).find("at least 944 J"), std::string::npos);
}
}  // namespace
}  // namespace perjoule::cli

#include "workload/bench_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "workload/bench_identities.h"
#include "workload/bench_result_json.h"

namespace perjoule {
namespace {

/// A folder of its own for a test.
class BenchFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/pj_bench_files-" + std::to_string(getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    ASSERT_TRUE(make_folders(folder_));
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(make_folders(path.substr(0, path.rfind('/'))));
    EXPECT_TRUE(write_file_atomically(path, text));
    return path;
  }
  std::string folder_;
};

std::string row(const std::string& more = "", double energy = 0.5) {
  const double rate = 1000;
  return R"({"model_id": "org/a", "gpu_model": "H100", "num_gpus": 1, "tensor_parallel": 1,
  "max_num_seqs": 64, "energy_per_token_joules": )" +
         std::to_string(energy) + R"(, "energy_per_request_joules": )" +
         std::to_string(energy * 100) + R"(, "avg_output_len": 100, "avg_power_watts": )" +
         std::to_string(energy * rate) +
         R"(, "output_throughput_tokens_per_sec": 1000, "median_itl_ms": 20)" + more + "}";
}

std::string task(const std::string& rows, const std::string& head = "") {
  return R"({"task": "chat", )" + head + R"("configurations": [)" + rows + "]}";
}

TEST_F(BenchFilesTest, ATaskAndAModelFileOfV3AreOneResult) {
  write("index.json",
        R"({"architectures": {}, "tasks": [], "models": {"org/a": {"nickname": "A",
           "weight_precision": "fp8", "total_params_billions": 8.0}}})");
  write("tasks/chat.json", task(row()));
  write("models/a.json",
        task(row(R"(, "output_length_distribution": {"bins": [0, 50, 100], "counts": [1, 2]})"),
             R"("model_id": "org/a", )"));
  write("README.md", "no result");
  write("other.json", R"({"a": 1})");
  const auto files = read_bench_files({folder_}, {});
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->results.size(), 1U);
  EXPECT_EQ(files->read, 3U);
  EXPECT_EQ(files->passed_over, 2U);
  const BenchResult& result = files->results[0];
  EXPECT_EQ(result.model.nickname, "A");
  EXPECT_EQ(result.model.precision, "fp8");
  EXPECT_EQ(result.origin.file, folder_ + "/tasks/chat.json");
  ASSERT_TRUE(result.lengths.outputs);
  EXPECT_EQ(result.lengths.outputs->counts, (std::vector<double>{1, 2}));
  EXPECT_TRUE(result.validity.empty());
  EXPECT_EQ(result.energy.output_token->status, Status::kReconstructed);
  EXPECT_FALSE(uncertainty_stated(*result.energy.output_token));
}

TEST_F(BenchFilesTest, TheSameRowTwiceIsSaid) {
  const auto files = read_bench_files({write("a.json", task(row() + "," + row()))}, {});
  ASSERT_TRUE(files);
  ASSERT_EQ(files->results.size(), 2U);
  EXPECT_TRUE(files->results[0].validity.empty());
  ASSERT_EQ(files->results[1].validity.size(), 1U);
  EXPECT_NE(files->results[1].validity[0].find("row 1"), std::string::npos);
}

TEST_F(BenchFilesTest, AFileNamedTwiceIsReadOnce) {
  const std::string path = write("a.json", task(row()));
  const auto files = read_bench_files({path, path}, {});
  ASSERT_TRUE(files);
  EXPECT_EQ(files->results.size(), 1U);
}

TEST_F(BenchFilesTest, RecordsOfRequestsBesideAResultArePassedOver) {
  write("a.json", task(row()));
  const std::string records = write("profile_export.jsonl", "{\"metrics\": 1}\n{\"metrics\": 2}\n");
  const auto files = read_bench_files({folder_}, {});
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->results.size(), 1U);
  EXPECT_EQ(files->passed_over, 1U);
  EXPECT_FALSE(read_bench_files({records}, {}));
}

TEST_F(BenchFilesTest, SeveralResultsOfOursInOneFile) {
  const std::string one =
      R"({"schema": "perjoule.bench-result.v1", "task": "chat", "model": {"id": "a"},
          "origin": {"file": "x", "row": )";
  const std::string path = write("several.json", R"({"schema": "perjoule.bench-results.v1",
      "results": [)" + one + "1}}, " + one + "2}, \"power_w\": 3}]}");
  const auto files = read_bench_files({path}, {});
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->results.size(), 2U);
  EXPECT_EQ(files->results[1].origin.row, 2U);
  const auto none = read_bench_files(
      {write("none.json", R"({"schema": "perjoule.bench-results.v1", "results": 3})")}, {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("'results'"), std::string::npos);
}

TEST_F(BenchFilesTest, WrongFiguresAreSaidAndKept) {
  const auto files = read_bench_files(
      {write("a.json", task(row("", -0.5) + "," + row(R"(, "avg_batch_size": 3)", 0.25)))}, {});
  ASSERT_TRUE(files);
  ASSERT_EQ(files->results.size(), 2U);
  EXPECT_FALSE(files->results[0].validity.empty());
  EXPECT_NE(files->results[0].validity[0].find("-0.5"), std::string::npos);
  EXPECT_TRUE(files->results[1].validity.empty());
}

TEST_F(BenchFilesTest, AnIdentityThatDoesNotHoldIsNamed) {
  std::string text = task(row());
  text.replace(text.find("500.0"), 5, "500.1");
  const auto files = read_bench_files({write("a.json", text)}, {});
  ASSERT_TRUE(files);
  ASSERT_EQ(files->results[0].validity.size(), 1U);
  EXPECT_NE(files->results[0].validity[0].find("power = energy"), std::string::npos);
}

TEST_F(BenchFilesTest, BadFilesAreErrorsThatNameFileAndRow) {
  const auto refused = [this](const std::string& text, std::initializer_list<std::string> wanted,
                              const std::string& name = "bad.json") {
    const auto files = read_bench_files({write(name, text)}, {});
    ASSERT_FALSE(files) << text;
    for (const std::string& word : wanted)
      EXPECT_NE(files.error().text().find(word), std::string::npos) << files.error().text();
    EXPECT_NE(files.error().text().find(name), std::string::npos) << files.error().text();
  };
  refused(task(row()).substr(0, 100), {"line"});
  refused(task(row() + R"(, {"model_id": "b"})"), {"row 2", "gpu_model"});
  refused(task(row() + ", 3"), {"row 2", "object"});
  refused(task(R"({"model_id": 3, "gpu_model": "H100", "num_gpus": 1})"), {"row 1", "model_id"});
  refused(task(row(R"(, "avg_batch_size": "many")")), {"row 1", "avg_batch_size", "number"});
  refused(task(row(R"(, "output_length_distribution": {"bins": [1], "counts": [1]})")),
          {"row 1", "output_length_distribution"});
  refused(task(row(R"(, "p90_itl_ms": NaN)")), {"line"});
  refused(R"({"a": 1})", {"known format"});
  refused("some words", {"known format"});
  refused("", {"known format"});
  const std::string head =
      "family,task,model,gpu,tp,pp,max_bs,avg_bs,energy_per_req_j,avg_tpot_s,token_tput_tok_s,"
      "avg_output_tokens\n";
  refused(head + "llm,chat,m,H100,1,1,8,7.9,nan,0.1,100,30\n", {"line 2", "energy_per_req_j"},
          "bad.csv");
  refused(head + "llm,chat,m,H100,1.5,1,8,7.9,3,0.1,100,30\n", {"line 2", "tp"}, "bad.csv");
  refused(head + "llm,chat,m\n", {"line 2"}, "bad.csv");
}

TEST_F(BenchFilesTest, NegativeEnergiesOfATableAreSaid) {
  const auto files = read_bench_files(
      {write("a.csv",
             "# gathered by hand\n"
             "family,task,model,gpu,tp,pp,max_bs,avg_bs,energy_per_req_j,avg_tpot_s,"
             "token_tput_tok_s,avg_output_tokens\n"
             "mllm_text_generation,chat,m,NVIDIA H100 80GB HBM3,2,1,8,7.9,-3,0.1,100,30\n")},
      {});
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_FALSE(files->results[0].validity.empty());
  EXPECT_EQ(files->results[0].gpus.model, "H100");
  EXPECT_EQ(files->results[0].gpus.count, 2);
  EXPECT_EQ(files->results[0].task, "visual-chat");
}

TEST_F(BenchFilesTest, ABadFileInAFolderIsAnErrorUnlessSkipped) {
  write("a.json", task(row()));
  write("b.json", "{\"configurations\": [");
  const auto refused = read_bench_files({folder_}, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("b.json"), std::string::npos);
  const auto files = read_bench_files({folder_}, {.skip_bad = true});
  ASSERT_TRUE(files);
  EXPECT_EQ(files->results.size(), 1U);
  ASSERT_EQ(files->notes.size(), 1U);
  EXPECT_NE(files->notes[0].find("b.json"), std::string::npos);
}

TEST_F(BenchFilesTest, NothingThereIsNotFound) {
  for (const std::string& path : {folder_, folder_ + "/none.json"}) {
    const auto files = read_bench_files({path}, {});
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().code, ErrorCode::kNotFound);
    EXPECT_NE(files.error().message.find(path), std::string::npos);
  }
}

TEST_F(BenchFilesTest, AFolderThatMayNotBeReadIsNoEmptyOne) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string path = write("sub/a.json", task(row()));
  ASSERT_EQ(chmod((folder_ + "/sub").c_str(), 0), 0);
  const auto files = read_bench_files({folder_}, {});
  chmod((folder_ + "/sub").c_str(), 0755);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kPermissionDenied);
}

TEST_F(BenchFilesTest, OurOwnResultsAreRead) {
  BenchResult own;
  own.benchmark = "perjoule";
  own.task = "chat";
  own.model.id = "m";
  own.energy.output_token = published_energy(Joules(0.1), "gpu:0");
  const auto files = read_bench_files({write("own.json", to_json(own).dump(2))}, {});
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_EQ(files->results[0].benchmark, "perjoule");
  const auto newer =
      read_bench_files({write("new.json", R"({"schema": "perjoule.bench-result.v2"})")}, {});
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace perjoule

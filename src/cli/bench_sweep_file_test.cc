#include "cli/bench_sweep_file.h"

#include <gtest/gtest.h>

namespace perjoule::cli {
namespace {

Verb run() {
  Verb verb;
  verb.name = "bench run";
  verb.options = {{"url", "URL", "the server"},           {"rate", "R", "a second"},
                  {"max-num-seqs", "B", "of the server"}, {"limit", "LIST", "limits", "", true},
                  {"constant", "", "even gaps"},          {"output", "FILE", "where"}};
  return verb;
}

const std::string kServer =
    "[server]\ncommand = \"serve {max-num-seqs} {mode} ${HOME} {\\\"a\\\": 1}\"\n"
    "ready = \"http://localhost:1/health\"\n";

TEST(BenchSweepFile, PointsAreAllCombinationsInTheFilesOrder) {
  const auto file = read_bench_sweep(
      "[run]\nurl = \"http://h\"\nlimit = [\"a\", \"b\"]\nconstant = true\n" + kServer +
          "ready-within = \"5s\"\n[[sweep]]\nmode = [\"x\"]\nrate = [1, 2.5]\nmax-num-seqs = [8, "
          "16]\n",
      "s.toml", run());
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_EQ(file->points.size(), 4u);
  EXPECT_EQ(file->server->ready_within, Seconds(5));
  // Points of one server stand together: it is started twice, not four times.
  EXPECT_EQ(file->points[0].command, "serve 8 x ${HOME} {\"a\": 1}");
  EXPECT_EQ(file->points[1].command, file->points[0].command);
  EXPECT_EQ(file->points[2].command, file->points[3].command);
  EXPECT_EQ(file->points[1].settings.text(), "mode x, rate 2.5, max-num-seqs 8");
  const std::vector<std::string> words{"--url=http://h",  "--limit=a",        "--limit=b",
                                       "--constant",      "--setting=mode=x", "--rate=2.5",
                                       "--max-num-seqs=8"};
  EXPECT_EQ(file->points[1].words, words);
}

TEST(BenchSweepFile, TablesAreOneSweepAndAPointThatIsInTwoIsOne) {
  const auto file =
      read_bench_sweep("[[sweep]]\nrate = [1, 2]\n[[sweep]]\nrate = [2, 3]\n", "s.toml", run());
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->points.size(), 3u);
  EXPECT_FALSE(file->server);
}

TEST(BenchSweepFile, WhatPointsShareTellsSweepsApart) {
  const auto read = [](const std::string& more) {
    return read_bench_sweep("[run]\nurl = \"http://h\"\n" + more + "[[sweep]]\nrate = [1]\n",
                            "s.toml", run())
        .value()
        .shared;
  };
  EXPECT_EQ(read(""), read(""));
  EXPECT_NE(read(""), read("constant = true\n"));
}

TEST(BenchSweepFile, ErrorsNameTheLine) {
  const auto refused = [](const std::string& text) {
    const auto file = read_bench_sweep(text, "s.toml", run());
    EXPECT_FALSE(file) << text;
    return file ? std::string() : file.error().text();
  };
  EXPECT_NE(refused("[run]\nurll = \"x\"\n[[sweep]]\nrate = [1]\n").find("s.toml:2"),
            std::string::npos);
  EXPECT_NE(refused("[[sweep]]\nrat = [1]\n").find("s.toml:2: 'rat' is neither"),
            std::string::npos);
  EXPECT_NE(refused("[[sweep]]\nrate = 1\n").find("list of values"), std::string::npos);
  EXPECT_NE(refused("[[sweep]]\nrate = []\n").find("list of values"), std::string::npos);
  EXPECT_NE(refused("[[sweep]]\nrate = [1, 1]\n").find("twice"), std::string::npos);
  EXPECT_NE(refused("[[sweep]]\nrate = [1, [2]]\n").find("words and numbers"), std::string::npos);
  EXPECT_NE(refused("[[sweep]]\noutput = [\"x\"]\n").find("sweep's own"), std::string::npos);
  EXPECT_NE(refused("[run]\noutput = \"x\"\n[[sweep]]\nrate = [1]\n").find("no option"),
            std::string::npos);
  EXPECT_NE(refused(kServer + "[[sweep]]\nrate = [1]\n").find("{max-num-seqs}"), std::string::npos);
  EXPECT_NE(refused("[server]\ncommand = \"x\"\n[[sweep]]\nrate = [1]\n").find("ready URL"),
            std::string::npos);
  EXPECT_NE(refused("[server]\ncommand = \"x\"\nport = 3\n").find("no key of a server"),
            std::string::npos);
  EXPECT_NE(refused("[run]\n").find("no [[sweep]]"), std::string::npos);
  EXPECT_NE(refused("sweep = 3\n").find("no [[sweep]]"), std::string::npos);
  EXPECT_NE(refused("[sweeps]\n").find("no table of a sweep"), std::string::npos);
  EXPECT_NE(refused("[[sweep]\n").find("s.toml:1"), std::string::npos);
  std::string many = "[[sweep]]\nrate = [";
  for (int i = 1; i <= 200; ++i) many += std::to_string(i) + ",";
  many += "]\nmax-num-seqs = [";
  for (int i = 1; i <= 200; ++i) many += std::to_string(i) + ",";
  EXPECT_NE(refused(many + "]\n").find("more than 10000"), std::string::npos);
}

}  // namespace
}  // namespace perjoule::cli

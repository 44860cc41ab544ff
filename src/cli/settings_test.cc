#include "cli/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "device/temp_tree.h"

namespace perjoule::cli {
namespace {

std::vector<Verb> verbs() {
  Verb run;
  run.name = "run";
  run.options = {{"every", "TIME", "period", "100ms"}, {"quiet", "", "no line"}};
  Verb list;
  list.name = "runs list";
  list.options = {{"project", "NAME", "only these", "", true}};
  return {run, list};
}

using Words = std::vector<std::string>;

TEST(Settings, ATableIsAVerbAndAKeyItsOption) {
  const auto known = verbs();
  const auto settings =
      Settings::parse("[run]\nevery = \"20ms\"\nquiet = true\n[runs.list]\nproject = [\"a\", 7]\n",
                      "x.toml", known);
  ASSERT_TRUE(settings) << settings.error().text();
  EXPECT_EQ(*settings->find(known[0], known[0].options[0]), Words{"20ms"});
  EXPECT_EQ(*settings->find(known[0], known[0].options[1]), Words{"true"});
  EXPECT_EQ(*settings->find(known[1], known[1].options[0]), (Words{"a", "7"}));
}

TEST(Settings, WhatIsNotSetIsEmpty) {
  const auto known = verbs();
  EXPECT_EQ(*Settings().find(known[0], known[0].options[0]), Words{});
}

TEST(Settings, MistakesNameFileAndLine) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"[run\n", "x.toml:1: "},
      {"\n[walk]\nfar = 1\n", "x.toml:2: no verb 'walk'"},
      {"[run]\nevery = \"1s\"\nnoise = 3\n", "x.toml:3: perjoule run has no option --noise"},
      {"every = 3\n", "x.toml:1: 'every' stands in no verb's table"},
      {"[runs]\nproject = 3\n", "x.toml:2: 'project' stands in no verb's table"},
      {"[run]\nquiet = \"yes\"\n", "x.toml:2: quiet is true or false"},
      {"[run]\nevery = true\n", "x.toml:2: every takes TIME"},
      {"[run]\nevery = [1, 2]\n", "x.toml:2: every takes TIME"},
  };
  for (const auto& [text, message] : cases) {
    const auto settings = Settings::parse(text, "x.toml", verbs());
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().message.rfind(message, 0), 0U) << settings.error().message;
    EXPECT_EQ(settings.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Settings, TheEnvironmentWinsOverTheFile) {
  const auto known = verbs();
  const auto settings = Settings::parse("[run]\nevery = \"20ms\"\nquiet = true\n", "x", known);
  ASSERT_TRUE(settings);
  setenv("PERJOULE_RUN_EVERY", "5ms", 1);
  setenv("PERJOULE_RUN_QUIET", "0", 1);
  EXPECT_EQ(*settings->find(known[0], known[0].options[0]), Words{"5ms"});
  EXPECT_EQ(*settings->find(known[0], known[0].options[1]), Words{"false"});
  setenv("PERJOULE_RUN_QUIET", "perhaps", 1);
  EXPECT_FALSE(settings->find(known[0], known[0].options[1]));
  unsetenv("PERJOULE_RUN_EVERY");
  unsetenv("PERJOULE_RUN_QUIET");
}

TEST(Settings, VariablesAreSpelledLikeTheOption) {
  EXPECT_EQ(variable_of("runs list", "power-limit"), "PERJOULE_RUNS_LIST_POWER_LIMIT");
}

TEST(Settings, TheFileIsTheOneNamedAndNoneWhenTheNameIsEmpty) {
  TempTree tree;
  tree.write("set.toml", "[run]\nevery = \"3ms\"\n");
  const auto known = verbs();
  setenv("PERJOULE_CONFIG", (tree / "set.toml").c_str(), 1);
  auto settings = Settings::load(known);
  ASSERT_TRUE(settings) << settings.error().text();
  EXPECT_EQ(*settings->find(known[0], known[0].options[0]), Words{"3ms"});
  setenv("PERJOULE_CONFIG", (tree / "absent.toml").c_str(), 1);
  EXPECT_FALSE(Settings::load(known));
  setenv("PERJOULE_CONFIG", "", 1);
  settings = Settings::load(known);
  ASSERT_TRUE(settings);
  EXPECT_EQ(*settings->find(known[0], known[0].options[0]), Words{});
  unsetenv("PERJOULE_CONFIG");
}

}  // namespace
}  // namespace perjoule::cli

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/file.h"
#include "device/journal.h"
#include "device/temp_tree.h"
#include "perjoule/perjoule.hpp"

namespace {

TEST(CAbi, WindowsNestAndResultsCarryUncertaintyAndState) {
  pj::Session session;
  ASSERT_GT(session.source_count(), 0U);
  EXPECT_NE(std::string(session.source(0).id), "");
  pj::Window outer = session.begin("outer");
  pj::Window inner = session.begin("inner");
  const pj::Result small = inner.end();
  const pj::Result large = outer.end();
  EXPECT_GE(large.seconds(), small.seconds());
  EXPECT_GE(large.total().joules, 0);
  EXPECT_NE(large.json().find("\"name\":\"outer\""), std::string::npos);
}

TEST(CAbi, AWindowCanBeAlignedToTicks) {
  pj::Session session;
  pj::Window aligned = session.begin_aligned("short");
  const pj::Result used = aligned.end();
  EXPECT_GE(used.total().joules, 0);
  EXPECT_LT(used.seconds(), 0.5);  // waiting is outside the window
  pj::WindowOptions options;
  options.sync = 7;
  EXPECT_THROW(session.begin("x", options), pj::Error);
}

TEST(CAbi, StepsAreRefusedWhereNoPowerLimitCanBeSet) {
  pj::Session session;
  pj_steps* steps = nullptr;
  EXPECT_EQ(pj_steps_begin(nullptr, nullptr, &steps), PJ_INVALID_ARGUMENT);
  EXPECT_THROW(pj::Steps(session, "eta=7"), pj::Error);
  EXPECT_THROW(pj::Steps(session, "magic"), pj::Error);
  EXPECT_THROW(pj::Steps{session}, pj::Error);  // no GPU here
  EXPECT_EQ(pj_steps_end(nullptr), PJ_OK);
  EXPECT_EQ(pj_steps_settled(nullptr), 0);
  EXPECT_EQ(pj_steps_limit_w(nullptr), 0);
}

TEST(CAbi, OpeningPutsBackWhatAKilledProcessLeft) {
  const perjoule::TempTree tree;
  const std::string policy = "sys/devices/system/cpu/cpufreq/policy0/";
  tree.write(policy + "scaling_governor", "powersave");
  tree.write(policy + "scaling_available_governors", "performance powersave");
  tree.write("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0");
  tree.write("proc/cpuinfo", "processor : 0\nmodel name : Xeon");
  tree.write("proc/stat", "cpu  1 0 0 1 0 0 0 0 0 0");
  const auto us = perjoule::ProcessIdentity::current();
  tree.write("knobs/cpu:0@governor.json",
             R"({"knob":"cpu:0/governor","original":"performance","pid":999999999,)"
             R"("start_ticks":1,"boot_id":")" +
                 us.boot_id + "\"}");
  ::setenv("PERJOULE_SYSFS_ROOT", (tree / "sys").c_str(), 1);
  ::setenv("PERJOULE_PROCFS_ROOT", (tree / "proc").c_str(), 1);
  ::setenv("PERJOULE_KNOBS", (tree / "knobs").c_str(), 1);
  const pj::Session session;
  for (const char* name : {"PERJOULE_SYSFS_ROOT", "PERJOULE_PROCFS_ROOT", "PERJOULE_KNOBS"})
    ::unsetenv(name);
  EXPECT_EQ(*perjoule::read_attribute(tree / (policy + "scaling_governor")), "performance");
  EXPECT_TRUE(perjoule::list_folder(tree / "knobs").empty());
}

TEST(CAbi, NullsAndUnsetSizesAreErrorsWithWords) {
  EXPECT_EQ(pj_open(nullptr, nullptr), PJ_INVALID_ARGUMENT);
  EXPECT_NE(std::string(pj_last_error()), "");
  pj_window* window = nullptr;
  EXPECT_EQ(pj_begin(nullptr, "x", nullptr, &window), PJ_INVALID_ARGUMENT);
  pj_result* result = nullptr;
  EXPECT_EQ(pj_end(nullptr, &result), PJ_INVALID_ARGUMENT);
  pj_open_options options{};
  pj_session* session = nullptr;
  EXPECT_EQ(pj_open(&options, &session), PJ_INVALID_ARGUMENT);
  options.struct_size = sizeof(options);
  options.sample_every_s = -1;
  EXPECT_EQ(pj_open(&options, &session), PJ_INVALID_ARGUMENT);
  pj_close(nullptr);
  pj_drop(nullptr);
  pj_result_free(nullptr);
}

TEST(CAbi, AnOlderCallersShorterStructIsNotOverrun) {
  pj::Session session;
  pj::Result result = session.begin("x").end();
  struct Old {
    size_t struct_size;
    double joules;
    char canary[64];
  } old{};
  old.struct_size = 2 * sizeof(double);
  std::memset(old.canary, 0x5A, sizeof(old.canary));
  pj_result* raw = nullptr;
  pj_window* window = nullptr;
  pj_session* plain = nullptr;
  ASSERT_EQ(pj_open(nullptr, &plain), PJ_OK);
  ASSERT_EQ(pj_begin(plain, "x", nullptr, &window), PJ_OK);
  ASSERT_EQ(pj_end(window, &raw), PJ_OK);
  EXPECT_EQ(pj_result_total(raw, reinterpret_cast<pj_energy*>(&old)), PJ_OK);
  for (const char c : old.canary) EXPECT_EQ(c, 0x5A);
  pj_result_free(raw);
  pj_close(plain);
}

TEST(CAbi, TheLastErrorBelongsToItsThread) {
  EXPECT_EQ(pj_open(nullptr, nullptr), PJ_INVALID_ARGUMENT);
  std::thread([] { EXPECT_STREQ(pj_last_error(), ""); }).join();
  EXPECT_STRNE(pj_last_error(), "");
}

TEST(CAbi, UnitsReachTheDescriptorOfTheRunAround) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::setenv("PERJOULE_UNIT_FD", std::to_string(ends[1]).c_str(), 1);
  EXPECT_EQ(pj_unit_done(1), PJ_OK);
  EXPECT_EQ(pj_unit_done(2.5e9), PJ_OK);
  EXPECT_EQ(pj_unit_done(-1), PJ_INVALID_ARGUMENT);
  char text[64] = {};
  EXPECT_GT(::read(ends[0], text, sizeof(text) - 1), 0);
  EXPECT_STREQ(text, "1\n2500000000\n");
  ::unsetenv("PERJOULE_UNIT_FD");
  EXPECT_EQ(pj_unit_done(1), PJ_OK);  // nobody listens: nothing to do
  ::close(ends[0]);
  ::close(ends[1]);
}
}  // namespace

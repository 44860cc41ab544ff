#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
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

/// A package with cores within it, whose counters a test moves.
class CAbiOnPackage : public testing::Test {
 protected:
  void SetUp() override {
    zone("intel-rapl:0", "package-0", 1'000'000);
    zone("intel-rapl:0:0", "core", 500'000);
    tree_.write("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon");
    tree_.write("proc/stat", "cpu  1 0 0 1 0 0 0 0 0 0");
    ::setenv("PERJOULE_SYSFS_ROOT", (tree_ / "sys").c_str(), 1);
    ::setenv("PERJOULE_PROCFS_ROOT", (tree_ / "proc").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("PERJOULE_SYSFS_ROOT");
    ::unsetenv("PERJOULE_PROCFS_ROOT");
  }
  void zone(const std::string& folder, const std::string& name, long micro) const {
    const std::string path = "sys/class/powercap/" + folder + "/";
    tree_.write(path + "name", name);
    tree_.write(path + "energy_uj", std::to_string(micro));
    tree_.write(path + "max_energy_range_uj", "262143328850");
  }
  perjoule::TempTree tree_;
};

TEST_F(CAbiOnPackage, AWindowOverSomeSourcesMeasuresThoseAlone) {
  pj::Session session;
  ASSERT_EQ(session.source_count(), 2U);
  pj::Window all = session.begin("all");
  pj::Window device = session.begin_over("device", {"cpu:0"});
  pj::Window cores = session.begin_over("cores", {"cpu:0/core"});
  ::usleep(200'000);  // long against what lies between the reads of the three
  zone("intel-rapl:0", "package-0", 3'000'000);
  zone("intel-rapl:0:0", "core", 1'000'000);
  EXPECT_NEAR(cores.end().total().joules, 0.5, 0.1);
  EXPECT_NEAR(device.end().total().joules, 2, 0.1);
  EXPECT_NEAR(all.end().total().joules, 2, 0.1);
  EXPECT_THROW(session.begin_over("x", {"gpu:none"}), pj::Error);
  pj_window_options options{};
  options.struct_size = sizeof(options);
  options.source_count = 1;
  EXPECT_THROW(session.begin("x", &options), pj::Error);  // no list
}

TEST_F(CAbiOnPackage, ASessionOverSomeSourcesHasThoseAlone) {
  const char* words[] = {"cpu:0/core"};
  pj_open_options options{};
  options.struct_size = sizeof(options);
  options.sources = words;
  options.source_count = 1;
  pj::Session session(&options);
  ASSERT_EQ(session.source_count(), 1U);
  EXPECT_STREQ(session.source(0).id, "cpu:0/core");
  words[0] = "gpu:none";
  EXPECT_THROW(pj::Session{&options}, pj::Error);
}

TEST_F(CAbiOnPackage, OlderCallersOptionsWithoutSourcesMeanAll) {
  // As the structs were; what follows them in the caller's memory is not ours to read.
  struct OldWindowOptions {
    size_t struct_size;
    int32_t sync;
    int32_t (*callback)(void* user);
    void* user;
    int32_t tick_aligned;
    int32_t garbage;
    char beyond[32];
  } window{};
  static_assert(offsetof(OldWindowOptions, beyond) == offsetof(pj_window_options, sources));
  window.struct_size = offsetof(OldWindowOptions, beyond);
  window.sync = PJ_SYNC_NONE;
  window.garbage = 0x5A5A5A5A;
  std::memset(window.beyond, 0x5A, sizeof(window.beyond));
  pj::Session session;
  pj_window* begun = nullptr;
  ASSERT_EQ(pj_begin(nullptr, "x", nullptr, &begun), PJ_INVALID_ARGUMENT);
  pj::Window opened = session.begin("x", reinterpret_cast<const pj_window_options*>(&window));
  EXPECT_EQ(opened.end().json().find("cpu:0/core") != std::string::npos, true);
  static_assert(sizeof(pj_energy) == 48, "older callers' structs are as long");
}

TEST_F(CAbiOnPackage, AResetCounterIsALowerBoundAndSaysSo) {
  zone("intel-rapl:0", "package-0", 40'000'000'000);
  pj_open_options options{};
  options.struct_size = sizeof(options);
  options.sample_every_s = 0.01;
  pj::Session session(&options);
  pj::Window window = session.begin_over("x", {"cpu:0/package"});
  zone("intel-rapl:0", "package-0", 1'000);  // a wrap would be 222 kJ at once
  ::usleep(50'000);
  zone("intel-rapl:0", "package-0", 2'000);
  ::usleep(50'000);
  const pj_energy total = window.end().total();
  EXPECT_NE(total.is_lower_bound, 0);
  EXPECT_EQ(total.is_upper_bound, 0);
  EXPECT_EQ(total.grade, 'D');
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

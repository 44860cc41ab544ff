#include "meter/sync.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "meter/fake_source.h"

namespace perjoule {
namespace {

/// A process in which a CUDA runtime has been loaded by someone else.
class SyncTest : public testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(PERJOULE_FAKE_CUDA, RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    variable("fake_cuda_queued") = 0;
    variable("fake_cuda_syncs") = 0;
    variable("fake_cuda_code") = 0;
  }
  int& variable(const char* name) { return *static_cast<int*>(::dlsym(library_, name)); }

  void* library_ = nullptr;
  VirtualClock clock_{Instant{1'000'000'000}};
  FakeSource gpu_{fake_counter("gpu:a", 0), clock_, [](double) { return 100.0; }};
  Meter meter_{{&gpu_}, clock_};
};

TEST_F(SyncTest, TheRuntimeInTheProcessIsFoundAndCalledOnceAWindow) {
  Window window = *meter_.begin("x", {.sync = find_device_sync()});
  EXPECT_EQ(window.end().sync, SyncVerdict::kSynchronised);
  EXPECT_EQ(variable("fake_cuda_syncs"), 1);
}

TEST_F(SyncTest, QueuedWorkGivesAnUnsynchronisedWindowAway) {
  variable("fake_cuda_queued") = 1;
  EXPECT_EQ(device_work_queued(), true);
  EXPECT_EQ(meter_.begin("x")->end().sync, SyncVerdict::kBusyAtEnd);
  variable("fake_cuda_queued") = 0;
  EXPECT_EQ(meter_.begin("x")->end().sync, SyncVerdict::kNotRequested);
}

TEST_F(SyncTest, AFailingSynchroniseIsSaid) {
  variable("fake_cuda_code") = 700;
  const Measurement used = meter_.begin("x", {.sync = find_device_sync()})->end();
  EXPECT_EQ(used.sync, SyncVerdict::kBusyAtEnd);
  ASSERT_FALSE(used.notes.empty());
  EXPECT_NE(used.notes.back().find("cudaDeviceSynchronize failed with code 700"),
            std::string::npos);
}
}  // namespace
}  // namespace perjoule

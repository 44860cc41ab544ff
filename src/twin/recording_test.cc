#include "twin/recording.h"

#include "base/file.h"
#include "twin/standin_client.h"

namespace perjoule::twin {
namespace {

// A clock that moves the simulated machine along with itself.
class MachineClock final : public Clock {
 public:
  explicit MachineClock(World& world) : world_(world) {}
  Instant now() const noexcept override { return clock_.now(); }
  Instant since_boot() const noexcept override { return clock_.now(); }
  std::int64_t unix_ns() const noexcept override { return clock_.unix_ns(); }
  void sleep_until(Instant when) const override {
    if (when > clock_.now()) {
      EXPECT_TRUE(world_.advance(when - clock_.now()));
    }
    clock_.sleep_until(when);
  }

 private:
  World& world_;
  VirtualClock clock_;
};

class RecordingTest : public StandinTest {
 protected:
  Recording make() {
    start({"h100", "v100"});
    EXPECT_TRUE(world_->begin_phase(0, {.flop = 989e12, .activity = 0.5}));
    MachineClock clock(*world_);
    auto made = record(standin_path(), Seconds(2), Seconds(0.1), clock);
    EXPECT_TRUE(made) << made.error().text();
    return *made;
  }
};

TEST_F(RecordingTest, HoldsFactsAndSeries) {
  const Recording recording = make();
  ASSERT_EQ(recording.devices.size(), 2u);
  const RecordedDevice& h100 = recording.devices[0];
  EXPECT_EQ(h100.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(h100.limit_max_w, 700);
  EXPECT_EQ(h100.clock_min_mhz, 345);
  ASSERT_EQ(h100.samples.size(), 21u);
  EXPECT_GT(*h100.samples[20].counter_mj, *h100.samples[5].counter_mj);
  EXPECT_TRUE(h100.samples[3].instant_w.has_value());
  EXPECT_FALSE(recording.devices[1].samples[3].instant_w.has_value());  // Volta has no such field
}

TEST_F(RecordingTest, SurvivesTheFile) {
  const Recording recording = make();
  const auto parsed = parse_json(to_json(recording).dump());
  ASSERT_TRUE(parsed);
  const auto again = recording_from_json(*parsed);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_json(*again), to_json(recording));
}

TEST_F(RecordingTest, PlaysBackWhatWasRecorded) {
  const Recording recording = make();
  ASSERT_EQ(call("nvmlShutdown"), nvml::kSuccess);
  const std::string path = testing::TempDir() + "replay-" + std::to_string(getpid());
  std::remove(path.c_str());
  ASSERT_TRUE(create_replay(path, recording));
  auto replay = World::open(path);
  ASSERT_TRUE(replay);
  replay->mapping().block().mode = ClockMode::kManual;
  setenv(kEnvironmentVariable, path.c_str(), 1);
  ASSERT_EQ(call("nvmlInit_v2"), nvml::kSuccess);
  for (const std::size_t i : {0U, 7U, 20U}) {
    const RecordedSample& sample = recording.devices[0].samples[i];
    replay->mapping().block().manual_now_ns = static_cast<std::int64_t>(sample.at_s * 1e9) + 10;
    EXPECT_EQ(static_cast<double>(
                  get<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device())),
              *sample.counter_mj);
    EXPECT_NEAR(get("nvmlDeviceGetPowerUsage", device()) * 1e-3, *sample.usage_w, 1e-3);
  }
  char name[96];
  ASSERT_EQ(call("nvmlDeviceGetName", device(1), name, unsigned{sizeof name}), nvml::kSuccess);
  EXPECT_STREQ(name, "Tesla V100-SXM2-16GB");
  EXPECT_EQ(get("nvmlDeviceGetPowerManagementLimit", device(1)), 300000u);
  std::remove(path.c_str());
}

TEST(RecordingFile, RefusesWhatIsNone) {
  for (const char* text :
       {"{}", R"({"schema":"perjoule.recording.v2"})",
        R"({"schema":"perjoule.recording.v1","devices":[]})",
        R"({"schema":"perjoule.recording.v1","devices":[{"name":"x","uuid":"y"}]})",
        R"({"schema":"perjoule.recording.v1","devices":[{"name":"x","uuid":"y","samples":[[0]]}]})",
        R"({"schema":"perjoule.recording.v1","devices":[{"name":"x","uuid":"y","samples":
           [[1,0,0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0,0,0]]}]})"}) {
    EXPECT_FALSE(recording_from_json(*parse_json(text))) << text;
  }
  EXPECT_FALSE(read_recording("/nonexistent"));
}

}  // namespace
}  // namespace perjoule::twin

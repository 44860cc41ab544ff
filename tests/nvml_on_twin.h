// For tests: our device code on simulated GPUs, through the stand-in library, on a clock moved by
// hand.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/discovery.h"
#include "device/nvml_device.h"
#include "meter/meter.h"
#include "twin/reduced_library.h"
#include "twin/standin_client.h"
#include "twin_clock.h"

namespace perjoule {
using namespace literals;  // NOLINT: for tests only

class NvmlOnTwin : public twin::StandinTest {
 protected:
  /// A machine of these models, discovered through the library.
  void discover_on(const std::vector<std::string>& models) {
    start(models);
    clock_.emplace(*world_);
    folder_ = testing::TempDir() + "nvml-on-twin-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_ + "/knobs");
    setenv("PERJOULE_KNOBS", (folder_ + "/knobs").c_str(), 1);
    rediscover(twin::standin_path());
  }
  void rediscover(const std::string& library) {
    machine_ = {};
    Roots roots;
    roots.nvml = library;
    Discovered found = discover_nvml(roots);
    machine_.devices = std::move(found.devices);
    machine_.problems = std::move(found.problems);
  }
  /// Discovers through a copy of the library that lacks these functions.
  void rediscover_without(const std::vector<std::string>& symbols) {
    const std::string copy = folder_ + "/reduced-" + std::to_string(++copies_) + ".so";
    const auto made = twin::make_reduced_library(twin::standin_path(), copy, symbols);
    ASSERT_TRUE(made) << made.error().text();
    rediscover(copy);
  }
  void TearDown() override {
    machine_ = {};
    StandinTest::TearDown();
    unsetenv("PERJOULE_KNOBS");
    std::filesystem::remove_all(folder_);
  }

  Device& gpu(std::size_t index = 0) { return *machine_.devices.at(index); }
  Knob* knob(const std::string& name) {
    for (Knob* one : machine_.knobs()) {
      if (one->info().name == name) return one;
    }
    return nullptr;
  }
  void load(int device = 0, double activity = 0.8) {
    const auto ticket = world_->begin_phase(device, {.flop = 1e22, .activity = activity});
    ASSERT_TRUE(ticket) << ticket.error().text();
  }
  void pass(Seconds time) { ASSERT_TRUE(world_->advance(time)); }
  /// A window of the first device's summed source over `time` under load.
  SourceMeasurement measure(Seconds time) {
    Meter meter(machine_.sources(), *clock_);
    auto window = meter.begin("x", {.sources = {gpu().info().id}});
    EXPECT_TRUE(window);
    pass(time);
    return window->end().sources.at(0);
  }
  static std::string joined(const std::vector<std::string>& notes) {
    std::string text;
    for (const std::string& note : notes) text += note + "; ";
    return text;
  }

  Inventory machine_;
  std::optional<bench::TwinClock> clock_;
  std::string folder_;
  // Of all tests: a library stays loaded under its path.
  static inline int copies_ = 0;
};

}  // namespace perjoule

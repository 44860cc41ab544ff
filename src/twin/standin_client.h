// For tests: the stand-in library as a stranger sees it, through dlopen and the ABI alone.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "device/nvml_abi.h"
#include "twin/control_block.h"
#include "twin/world.h"

namespace perjoule::twin {

inline std::string standin_path() {
  return std::string(PERJOULE_STANDIN_DIR) + "/libnvidia-ml.so.1";
}

/// A manual-clock machine and the library on it.
class StandinTest : public testing::Test {
 protected:
  void start(const std::vector<std::string>& models, ClockMode mode = ClockMode::kManual) {
    path_ = testing::TempDir() + "standin-" + std::to_string(getpid());
    std::remove(path_.c_str());
    auto made = World::create(path_, models, mode);
    ASSERT_TRUE(made) << made.error().text();
    world_.emplace(std::move(*made));
    setenv(kEnvironmentVariable, path_.c_str(), 1);
    library_ = dlopen(standin_path().c_str(), RTLD_LAZY | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    ASSERT_EQ(call("nvmlInit_v2"), nvml::kSuccess);
  }

  void TearDown() override {
    if (library_ == nullptr) return;
    while (call("nvmlShutdown") == nvml::kSuccess) {
    }
    unsetenv(kEnvironmentVariable);
    std::remove(path_.c_str());
    dlclose(library_);
  }

  /// Calls an exported function; the arguments' types must be the function's.
  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) {
      ADD_FAILURE() << "no symbol " << name;
      return -1;
    }
    return function(arguments...);
  }

  nvml::Device device(unsigned index = 0) {
    nvml::Device handle = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", index, &handle), nvml::kSuccess);
    return handle;
  }

  /// A getter of one number.
  template <typename Number = unsigned>
  Number get(const char* name, nvml::Device handle) {
    Number value = 0;
    EXPECT_EQ(call(name, handle, &value), nvml::kSuccess) << name;
    return value;
  }

  void fault(const char* text) {
    const auto parsed = parse_fault(text);
    ASSERT_TRUE(parsed) << parsed.error().text();
    const auto set = world_->set_fault(*parsed);
    ASSERT_TRUE(set) << set.error().text();
  }

  std::optional<World> world_;
  void* library_ = nullptr;

 private:
  std::string path_;
};

}  // namespace perjoule::twin

// For tests: a program that uses the library on simulated GPUs: all that a session looks for is the
// stand-in and nothing of this machine.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "device/temp_tree.h"
#include "nvml_on_twin.h"

namespace perjoule {

class LibraryOnTwin : public NvmlOnTwin {
 protected:
  void SetUp() override {
    const Roots nothing = tree_.roots();
    set("PERJOULE_SYSFS_ROOT", nothing.sysfs);
    set("PERJOULE_PROCFS_ROOT", nothing.procfs);
    set("PERJOULE_DEV_ROOT", nothing.dev);
    set("PERJOULE_AMD_SMI", nothing.amd_smi);
    set("PERJOULE_ROCM_SMI", nothing.rocm_smi);
    set("PERJOULE_NVML", twin::standin_path());
  }
  void TearDown() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
    NvmlOnTwin::TearDown();
  }
  /// Until the test has ended.
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }

  TempTree tree_;
  std::vector<std::string> names_;
};

}  // namespace perjoule

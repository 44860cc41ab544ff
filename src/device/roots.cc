#include "device/roots.h"

#include "base/file.h"

namespace perjoule {

namespace {

/// Where the machine's own files are replaced, its settings are too: nothing is written beside
/// them.
std::string etc_root() {
  for (const char* variable :
       {"PERJOULE_SYSFS_ROOT", "PERJOULE_PROCFS_ROOT", "PERJOULE_DEV_ROOT"}) {
    if (const std::string root = environment(variable); !root.empty()) return root + "/etc";
  }
  return "/etc";
}

}  // namespace

Roots Roots::from_environment() {
  Roots roots;
  roots.sysfs = environment("PERJOULE_SYSFS_ROOT", roots.sysfs);
  roots.procfs = environment("PERJOULE_PROCFS_ROOT", roots.procfs);
  roots.dev = environment("PERJOULE_DEV_ROOT", roots.dev);
  roots.etc = environment("PERJOULE_ETC_ROOT", etc_root());
  roots.nvml = environment("PERJOULE_NVML", roots.nvml);
  roots.amd_smi = environment("PERJOULE_AMD_SMI", roots.amd_smi);
  roots.rocm_smi = environment("PERJOULE_ROCM_SMI", roots.rocm_smi);
  return roots;
}

}  // namespace perjoule

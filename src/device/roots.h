// Where the machine's files and vendor libraries are looked for. Parameters, not constants, so that
// a test or the twin can put a tree of its own in their place.
#pragma once

#include <string>

namespace perjoule {

struct Roots {
  std::string sysfs = "/sys";
  std::string procfs = "/proc";
  std::string dev = "/dev";
  std::string etc = "/etc";
  std::string nvml = "libnvidia-ml.so.1";
  std::string amd_smi = "libamd_smi.so";
  std::string rocm_smi = "librocm_smi64.so";

  /// The defaults, each overridden by its variable: PERJOULE_SYSFS_ROOT, PERJOULE_PROCFS_ROOT,
  /// PERJOULE_DEV_ROOT, PERJOULE_ETC_ROOT, PERJOULE_NVML, PERJOULE_AMD_SMI, PERJOULE_ROCM_SMI. A
  /// machine whose files are not the real ones never has the real /etc: where PERJOULE_ETC_ROOT is
  /// not set it is "etc" below the first root that is.
  static Roots from_environment();
};

}  // namespace perjoule

#include "device/roots.h"

#include "base/file.h"

namespace perjoule {

Roots Roots::from_environment() {
  Roots roots;
  roots.sysfs = environment("PERJOULE_SYSFS_ROOT", roots.sysfs);
  roots.procfs = environment("PERJOULE_PROCFS_ROOT", roots.procfs);
  roots.dev = environment("PERJOULE_DEV_ROOT", roots.dev);
  roots.nvml = environment("PERJOULE_NVML", roots.nvml);
  roots.amd_smi = environment("PERJOULE_AMD_SMI", roots.amd_smi);
  roots.rocm_smi = environment("PERJOULE_ROCM_SMI", roots.rocm_smi);
  return roots;
}

}  // namespace perjoule

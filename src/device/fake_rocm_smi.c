/* A stand-in for librocm_smi64.so, answering from fake_amd_state. */
#include "device/fake_amd.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_amd_state fake_amd_state = {.gpus = 1};

EXPORT unsigned rsmi_init(uint64_t flags) {
  (void)flags;
  if (fake_amd_state.init_status == 0) ++fake_amd_state.live;
  return fake_amd_state.init_status;
}
EXPORT unsigned rsmi_shut_down(void) {
  --fake_amd_state.live;
  return 0;
}
EXPORT unsigned rsmi_num_monitor_devices(unsigned* count) {
  *count = fake_amd_state.gpus;
  return 0;
}
EXPORT unsigned rsmi_dev_pci_id_get(unsigned gpu, uint64_t* bdf) {
  *bdf = fake_amd_state.bdf[gpu];
  return 0;
}
EXPORT unsigned rsmi_dev_energy_count_get(unsigned gpu, uint64_t* count, float* unit,
                                          uint64_t* stamp) {
  (void)gpu;
  *count = fake_amd_state.energy_count;
  *unit = fake_amd_state.resolution;
  *stamp = fake_amd_state.stamp_ns;
  return fake_amd_state.energy_status;
}
EXPORT unsigned rsmi_dev_current_socket_power_get(unsigned gpu, uint64_t* microwatts) {
  (void)gpu;
  if (fake_amd_state.current_watts == 0) return 2;
  *microwatts = (uint64_t)fake_amd_state.current_watts * 1000000;
  return 0;
}
EXPORT unsigned rsmi_dev_power_ave_get(unsigned gpu, unsigned sensor, uint64_t* microwatts) {
  (void)gpu;
  (void)sensor;
  *microwatts = (uint64_t)fake_amd_state.average_watts * 1000000;
  return 0;
}
EXPORT unsigned rsmi_dev_busy_percent_get(unsigned gpu, unsigned* percent) {
  (void)gpu;
  *percent = fake_amd_state.busy_percent;
  return 0;
}
EXPORT unsigned rsmi_dev_power_cap_get(unsigned gpu, unsigned sensor, uint64_t* cap) {
  (void)gpu;
  (void)sensor;
  *cap = fake_amd_state.cap;
  return 0;
}
EXPORT unsigned rsmi_dev_power_cap_default_get(unsigned gpu, uint64_t* cap) {
  (void)gpu;
  *cap = fake_amd_state.cap_default;
  return 0;
}
EXPORT unsigned rsmi_dev_power_cap_range_get(unsigned gpu, unsigned sensor, uint64_t* maximum,
                                             uint64_t* minimum) {
  (void)gpu;
  (void)sensor;
  *maximum = fake_amd_state.cap_maximum;
  *minimum = fake_amd_state.cap_minimum;
  return 0;
}
EXPORT unsigned rsmi_dev_power_cap_set(unsigned gpu, unsigned sensor, uint64_t microwatts) {
  (void)gpu;
  (void)sensor;
  if (fake_amd_state.set_status == 0) fake_amd_state.cap = microwatts;
  return fake_amd_state.set_status;
}

/* A stand-in for libamd_smi.so: one GPU to a socket, answering from fake_amd_state. */
#include <string.h>

#include "device/fake_amd.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_amd_state fake_amd_state = {.gpus = 1};

EXPORT unsigned amdsmi_init(uint64_t flags) {
  if (flags != 2) return 1;
  if (fake_amd_state.init_status == 0) ++fake_amd_state.live;
  return fake_amd_state.init_status;
}
EXPORT unsigned amdsmi_shut_down(void) {
  --fake_amd_state.live;
  return 0;
}
EXPORT unsigned amdsmi_get_socket_handles(unsigned* count, void** sockets) {
  *count = fake_amd_state.gpus;
  for (unsigned i = 0; sockets != 0 && i < *count; ++i) sockets[i] = &fake_amd_state.bdf[i];
  return 0;
}
EXPORT unsigned amdsmi_get_processor_handles(void* socket, unsigned* count, void** gpus) {
  *count = 1;
  if (gpus != 0) gpus[0] = socket;
  return 0;
}
EXPORT unsigned amdsmi_get_gpu_bdf_id(void* gpu, uint64_t* bdf) {
  *bdf = *(uint64_t*)gpu;
  return 0;
}
#ifndef FAKE_WITHOUT_ENERGY
EXPORT unsigned amdsmi_get_energy_count(void* gpu, uint64_t* count, float* unit, uint64_t* stamp) {
  (void)gpu;
  *count = fake_amd_state.energy_count;
  *unit = fake_amd_state.resolution;
  *stamp = fake_amd_state.stamp_ns;
  return fake_amd_state.energy_status;
}
#endif
EXPORT unsigned amdsmi_get_power_info(void* gpu, unsigned* info) {
  (void)gpu;
  memset(info, 0, 68);
  info[0] = fake_amd_state.current_watts;
  info[1] = fake_amd_state.average_watts;
  return 0;
}
EXPORT unsigned amdsmi_get_gpu_activity(void* gpu, unsigned* usage) {
  (void)gpu;
  memset(usage, 0, 64);
  usage[0] = fake_amd_state.busy_percent;
  return 0;
}
EXPORT unsigned amdsmi_get_power_cap_info(void* gpu, unsigned sensor, uint64_t* info) {
  (void)gpu;
  (void)sensor;
  memset(info, 0, 64);
  info[0] = fake_amd_state.cap;
  info[1] = fake_amd_state.cap_default;
  info[3] = fake_amd_state.cap_minimum;
  info[4] = fake_amd_state.cap_maximum;
  return 0;
}
EXPORT unsigned amdsmi_set_power_cap(void* gpu, unsigned sensor, uint64_t microwatts) {
  (void)gpu;
  (void)sensor;
  if (fake_amd_state.set_status == 0) fake_amd_state.cap = microwatts;
  return fake_amd_state.set_status;
}

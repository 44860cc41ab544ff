/* What the stand-in library exports beside the vendor's names: the way for a workload to use a
 * simulated device. Plain C, found with dlsym in whatever libnvidia-ml.so.1 is loaded, so that the
 * same program runs on hardware, where they are absent. Return codes are NVML's; 0 is success.
 * Devices are numbered as NVML numbers them. */
#ifndef PERJOULE_TWIN_STANDIN_H_
#define PERJOULE_TWIN_STANDIN_H_

#ifdef __cplusplus
extern "C" {
#endif

/* A phase of work: see physics.h for the meaning. A negative dram_share follows from the bytes. */
struct perjoule_twin_phase {
  double flop;
  double bytes;
  double activity;
  double dram_share;
  double link_share;
  double host_s;
  double pace_s;
};

/* Runs one phase and returns when it has ended. */
int perjoule_twin_run(unsigned device_index, double flop, double bytes, double activity);
/* Posts a phase and answers its ticket; waits for it. */
int perjoule_twin_post(unsigned device_index, const struct perjoule_twin_phase* phase,
                       unsigned long long* ticket);
int perjoule_twin_wait(unsigned device_index, unsigned long long ticket);
/* Drops whatever was posted: the device idles. */
int perjoule_twin_idle(unsigned device_index);
/* Simulated seconds since the machine was created. */
int perjoule_twin_now(double* seconds);

#ifdef __cplusplus
}
#endif

#endif

/* For tests: what the stand-ins of AMD's libraries answer. The test finds the block by its symbol,
 * `fake_amd_state`, in the library it opened. */
#pragma once

#include <stdint.h>

struct fake_amd_state {
  unsigned gpus;
  uint64_t bdf[4];
  uint64_t energy_count;
  float resolution;
  uint64_t stamp_ns;
  unsigned current_watts;
  unsigned average_watts;
  uint64_t cap;
  uint64_t cap_default;
  uint64_t cap_minimum;
  uint64_t cap_maximum;
  unsigned busy_percent;
  unsigned init_status;
  unsigned energy_status;
  unsigned set_status;
  int live; /* calls of init less calls of shut_down */
};

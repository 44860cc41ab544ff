// The ledger's unit: energy over a half-open span of wall time, with an owner.
#pragma once

#include <cstdint>
#include <string>

#include "base/energy.h"

namespace perjoule {

/// Energy used in [begin, end), Unix nanoseconds.
struct Interval {
  std::int64_t begin_unix_ns = 0;
  std::int64_t end_unix_ns = 0;
  Energy energy;  ///< with boundary, source and status
  std::string host;
  std::string device;  ///< with host and span, the key under which an interval is counted once
  std::string owner;   ///< job, user or tag the energy belongs to
};

}  // namespace perjoule

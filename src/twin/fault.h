// Ways in which a real machine misbehaves, to be injected into a simulated one.
//
// As text, for the command line: a kind, and name=value pairs separated by commas.
//
//   return:call=nvmlDeviceGetPowerUsage,code=15,gpu=0,from=2s,until=3s,count=5
//   slow:call=*,delay=50ms              every call takes 50 ms
//   missing:call=nvmlDeviceGetFieldValues   the symbol is not in the library at all
//   lost:gpu=0,at=2s                    the GPU falls off the bus
//   xid:gpu=0,at=2s,value=79            a critical error event
//   reset:gpu=0,at=1s                   the energy counter starts again at 0
//   freeze:gpu=0,from=1s,until=2s       counter and power stop moving
//   step-back:gpu=0,at=1s,value=5       the counter loses 5 J
//   stride:gpu=0,value=32               bytes a row of the process list (16, 24, 32)
//   mig:gpu=0,value=3                   MIG is on, with 3 instances
//   no-permission:gpu=0                 setters answer that they may not
//   cap:gpu=0,value=350                 an out-of-band cap of 350 W
//   tick:gpu=0,value=20                 sensors publish every 20 ms
//   window:gpu=0,value=100              they average over 100 ms
//   gaps:gpu=0                          the counter sees only what the power sensor sees
//   driver:value=535.54                 the driver's version, and with it the field numbering
//
// Without gpu= a fault strikes all devices. Times are simulated time.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace perjoule::twin {

enum class FaultKind {
  kReturn,
  kSlow,
  kMissing,
  kLost,
  kXid,
  kReset,
  kFreeze,
  kStepBack,
  kStride,
  kMig,
  kNoPermission,
  kCap,
  kTick,
  kWindow,
  kGaps,
  kDriver,
};

struct Fault {
  FaultKind kind = FaultKind::kReturn;
  int device = -1;        ///< -1: all
  std::string call = {};  ///< symbol, or "*"
  int code = 0;           ///< return code
  Seconds from = {};      ///< also `at`
  Seconds until{-1};      ///< negative: for ever
  Seconds delay = {};
  int count = -1;         ///< how often; -1: always
  double value = 0;       ///< joules, watts, milliseconds or a number, by the kind
  std::string text = {};  ///< the value as it was written
};

Result<Fault> parse_fault(std::string_view text);

}  // namespace perjoule::twin

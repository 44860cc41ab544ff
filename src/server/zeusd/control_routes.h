// What Zeus's daemon does: GPUs' limits, clocks and persistence mode, for a process that holds them
// until it ends.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "server/http/route.h"
#include "server/http/worker_pool.h"
#include "server/zeusd/process_leases.h"
#include "server/zeusd/zeusd_devices.h"

namespace perjoule {

/// Does one thing after another, in the order they came.
class ZeusdControl {
 public:
  /// Of a GPU, for a process.
  using Act = std::function<Outcome(const ZeusdGpu&, const ProcessLeases::Holder&)>;

  /// Both must outlive it.
  ZeusdControl(const ZeusdDevices& devices, ProcessLeases& leases)
      : devices_(devices), leases_(leases), queue_(1, 1024) {}

  /// On the GPUs of `gpu_ids`; with `block` false it answers once that is queued, and what fails
  /// then is only counted.
  Result<Reply> act(const Call& call, const Act& act);
  std::uint64_t failed_unheard() const { return failed_.load(); }

  Outcome set_power_limit(const ZeusdGpu& gpu, std::int64_t milliwatts,
                          const ProcessLeases::Holder& holder);
  Outcome lock(Knob* knob, const ZeusdGpu& gpu, std::int64_t lowest_mhz, std::int64_t highest_mhz,
               const ProcessLeases::Holder& holder);
  Outcome unlock(Knob* knob, const ZeusdGpu& gpu, const ProcessLeases::Holder& holder);

 private:
  Result<ProcessLeases::Holder> holder_of(const Call& call) const;
  Reply act_on(const std::set<int>& ids, const ProcessLeases::Holder& holder, const Act& act);

  const ZeusdDevices& devices_;
  ProcessLeases& leases_;
  std::atomic<std::uint64_t> failed_ = 0;
  WorkerPool queue_;  // last: it uses all else
};

/// POST /gpu/set_* and /gpu/reset_*.
std::vector<Route> zeusd_control_routes(ZeusdControl& control);

}  // namespace perjoule

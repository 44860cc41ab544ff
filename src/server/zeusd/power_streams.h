// Streams of present power, one for each listener, as server-sent events without names:
//
//   data: {"timestamp_ms":1762000000000,"gpu_id":0,"power_mw":75000}
//   data: {"timestamp_ms":1762000000000,"cpu_id":0,"cpu_mw":85000,"dram_mw":null}
//
// GPUs are read twenty times a second and processors ten times, each only while somebody listens to
// it, and only what has changed is sent. A processor's power is its energy between two moves of the
// counter over the time between them. Who lags by more than a bound is ended: he comes again. Any
// thread.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "server/http/route.h"
#include "server/zeusd/zeusd_devices.h"

namespace perjoule {

class PowerStreams final : public StreamOwner {
 public:
  enum class Of { kGpus, kCpus };
  static constexpr Seconds kGpusEvery{0.05};
  static constexpr Seconds kCpusEvery{0.1};
  static constexpr Seconds kAliveEvery{15};

  /// All must outlive it. `looks_by_itself` false: for tests, which call look().
  PowerStreams(const ZeusdDevices& devices, Meter& meter, const Clock& clock,
               bool looks_by_itself = true);
  ~PowerStreams();

  /// Begins a stream of those devices, which there are. unavailable with too many listeners.
  Outcome join(Of what, std::set<int> ids, std::shared_ptr<ServerExchange> exchange);
  void ended(const ServerExchange& exchange) override;
  /// All streams end.
  void close();
  std::size_t listeners() const;

  /// Reads what somebody listens to, and sends what has changed.
  void look(Of what);

 private:
  struct Listener {
    Of what = Of::kGpus;
    std::set<int> ids;
    std::shared_ptr<ServerExchange> exchange;
    std::map<int, std::string> sent;  ///< the last of each device
    Instant heard;                    ///< when anything was last sent
  };
  /// What is told of each device; a device that cannot be read is left out.
  std::map<int, std::string> read_gpus(const std::set<int>& ids);
  std::map<int, std::string> read_cpus(const std::set<int>& ids);
  std::set<int> wanted(Of what) const;
  /// False where the listener lags too far.
  bool send_changed(Listener& listener, const std::map<int, std::string>& values,
                    std::int64_t unix_ms);
  void run(const std::stop_token& stop);

  const ZeusdDevices& devices_;
  Meter& meter_;
  const Clock& clock_;
  /// Of processors, by the thread that looks alone.
  struct Before {
    Snapshot package;
    Snapshot dram;
    std::optional<std::int64_t> cpu_mw;
    std::optional<std::int64_t> dram_mw;
  };
  std::map<int, Before> before_;
  mutable std::mutex mutex_;  // what follows
  std::condition_variable_any joined_;
  std::map<const ServerExchange*, Listener> listeners_;
  bool closed_ = false;
  std::jthread thread_;  // last: it uses all else
};

}  // namespace perjoule

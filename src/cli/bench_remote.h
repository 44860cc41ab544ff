// GPUs of the server's machine, by what a Prometheus server keeps of NVIDIA's dcgm-exporter, as a
// meter of `perjoule bench run`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "serving/bench/bench_document.h"
#include "serving/engine/prometheus_power.h"

namespace perjoule::cli {

std::vector<Option> bench_remote_options();

class RemoteGpus {
 public:
  /// None where --prometheus is not given. Asks the server once, so that what is wrong shows before
  /// the load: not_found where no GPU fits.
  static Result<std::unique_ptr<RemoteGpus>> find(const Arguments& arguments, const Clock& clock);

  /// Returns once the server has samples from behind the run's end, or the patience is over.
  void wait_for(const BenchRun& run) const;
  /// Of the run's windows; reads the server each time.
  RemoteMeter meter(const BenchRun& run) const;
  /// Name and number of the GPUs.
  void describe(BenchContext& context) const;

 private:
  RemoteGpus(PrometheusOptions options, std::string selector, Seconds patience, const Clock& clock)
      : server_(std::move(options), clock),
        selector_(std::move(selector)),
        patience_(patience),
        clock_(clock) {}
  Result<RemoteEnergy> between(Seconds from, Seconds until) const;

  Prometheus server_;
  std::string selector_;
  Seconds patience_;
  Seconds age_{30};  ///< of what the exporter shows, at most
  const Clock& clock_;
  std::vector<RemoteGpu> gpus_;  ///< that there were at the beginning
};

}  // namespace perjoule::cli

// What a program that measures itself holds: the machine, a meter over all of it, and the thread
// that keeps it up. The C interface is a skin over this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/discovery.h"
#include "meter/meter.h"
#include "meter/sampler.h"

namespace perjoule {

/// The ids, in their own order, of the sources that the words name: each an id, or a device with
/// all that it has. None for no word; not_found with the word that names nothing.
Result<std::vector<std::string>> sources_named(const std::vector<std::string>& words,
                                               const std::vector<const SourceInfo*>& all);

class Session {
 public:
  struct Options {
    Seconds sample_every;  ///< 0: only what must be kept up
    bool estimate_cpu = true;
    std::vector<std::string> sources;  ///< ids of sources or devices; empty for all
  };
  /// Finds the machine, puts back knobs that a killed process left turned, and starts the meter.
  /// unavailable when this machine has nothing to measure with.
  static Result<std::unique_ptr<Session>> open(const Roots& roots, const Options& options);

  Meter& meter() { return *meter_; }
  const Inventory& machine() const { return machine_; }

 private:
  Session() = default;
  RealClock clock_;
  Inventory machine_;
  std::unique_ptr<Meter> meter_;
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace perjoule

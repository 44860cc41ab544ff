// What a program that measures itself holds: the machine, a meter over all of it, and the thread
// that keeps it up. The C interface is a skin over this.
#pragma once

#include <memory>

#include "base/clock.h"
#include "device/discovery.h"
#include "meter/meter.h"
#include "meter/sampler.h"

namespace perjoule {

class Session {
 public:
  struct Options {
    Seconds sample_every;  ///< 0: only what must be kept up
    bool estimate_cpu = true;
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

// The machine that the sampling benchmarks measure: a powercap tree of two packages with dram (four
// zones) in a temporary folder, and GPUs whose sources cost nothing, so that what is timed is ours.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/roots.h"

namespace perjoule::bench {

/// The tree; gone with its owner.
class PowercapFolder {
 public:
  PowercapFolder();
  ~PowercapFolder();
  PowercapFolder(const PowercapFolder&) = delete;
  PowercapFolder& operator=(const PowercapFolder&) = delete;

  Roots roots() const;
  /// The four energy_uj files.
  std::vector<std::string> energy_files() const;

 private:
  std::string root_;
};

/// Answers from memory: a counter that has moved, or a gauge, at each read.
class InstantSource final : public Source {
 public:
  explicit InstantSource(SourceInfo info) : info_(std::move(info)) {}
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    reads_.fetch_add(1, std::memory_order_relaxed);
    if (info_.kind == SourceKind::kPowerGauge) return {ErrorCode::kOk, 500'000'000};
    return {ErrorCode::kOk, micro_ += 1000};
  }
  double busy() noexcept override { return 0; }
  std::uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }

 private:
  SourceInfo info_;
  std::uint64_t micro_ = 0;
  std::atomic<std::uint64_t> reads_ = 0;
};

/// As an H100 with a 100 ms tick: its energy counter and, if wanted, the gauge of its present
/// power.
std::vector<std::unique_ptr<InstantSource>> instant_gpus(int count, bool gauges, Seconds tick);
/// Two packages with dram, answering from memory.
std::vector<std::unique_ptr<InstantSource>> instant_packages();

std::vector<Source*> borrowed(const std::vector<std::unique_ptr<InstantSource>>& sources);

}  // namespace perjoule::bench

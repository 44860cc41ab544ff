#include "meter/gpu_watch.h"

#include <algorithm>
#include <chrono>

#include "base/signals_kept.h"

namespace perjoule {
namespace {

/// The first look comes after this, each further one after twice the time of the one before.
constexpr Seconds kFirstLook{0.01};
/// How often it is looked at most later on. A driver's shares are of its last second or less.
constexpr Seconds kOftenest{0.5};
/// Looking may take this share of the time, so that a slow driver is not kept busy by us.
constexpr double kTimeShare = 0.1;
constexpr Seconds kRarest{5};

}  // namespace

GpuWatch::GpuWatch(std::vector<Device*> devices, std::string procfs, const Clock& clock)
    : clock_(clock), usage_(std::move(devices), std::move(procfs)) {}

void GpuWatch::start(std::int64_t root) {
  if (usage_.empty() || root <= 0) return;
  usage_.begin(clock_.now());
  const SignalsKept kept;
  thread_ = std::jthread([this, root](const std::stop_token& stop) { watch(stop, root); });
}

void GpuWatch::watch(const std::stop_token& stop, std::int64_t root) {
  Seconds pause = kFirstLook;
  Seconds took;
  while (!stop.stop_requested()) {
    const Seconds wait = std::max(pause, std::min(took / kTimeShare, kRarest));
    {
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, stop, std::chrono::duration<double>(wait.value()),
                      [] { return false; });
    }
    if (stop.stop_requested()) return;
    const Instant now = clock_.now();
    usage_.look(root, now, stop);
    took = clock_.now() - now;
    pause = std::min(pause * 2.0, kOftenest);
  }
}

std::vector<DeviceUsage> GpuWatch::finish(Instant end) {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  usage_.finish(end);
  return usage_.usage();
}

}  // namespace perjoule

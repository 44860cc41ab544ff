#include "meter/sampler.h"

#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/signals_kept.h"

namespace perjoule {
namespace {

// Of a source whose ticks are to be seen: a change is then known to a quarter of a tick.
constexpr double kReadsATick = 4;
constexpr Seconds kShortestPeriod{1e-3};

/// How often a channel has to be read for its total to stay right; 0 for never.
Seconds upkeep_period(const SourceInfo& info) {
  if (info.kind == SourceKind::kPowerGauge) return std::max(info.tick, Seconds(1e-3));
  if (info.modulus_micro == 0) return info.upkeep;
  const Seconds wrap = Joules(static_cast<double>(info.modulus_micro) * 1e-6) / info.max_power;
  const Seconds longest = info.upkeep.value() > 0 ? info.upkeep : Seconds(60);
  return std::min(wrap / 2.0, longest);
}

}  // namespace

SampleSchedule::SampleSchedule(Meter& meter, Seconds every, SamplePace pace) : meter_(meter) {
  const std::int64_t now = meter.clock().now().ns;
  for (const auto& channel : meter.channels()) {
    const SourceInfo& info = channel->info();
    const Seconds upkeep = upkeep_period(info);
    Seconds period = every.value() > 0 ? std::max(every, info.tick) : upkeep;
    if (pace == SamplePace::kSeesTicks && info.tick.value() > 0 && info.overlaps.empty())
      period = std::max(info.tick / kReadsATick, kShortestPeriod);
    // However slow a course the user asks for, a counter must not wrap twice between two reads.
    if (info.kind == SourceKind::kEnergyCounter && upkeep.value() > 0)
      period = std::min(period, upkeep);
    if (period.value() <= 0) continue;
    const auto ns = static_cast<std::int64_t>(period.value() * 1e9);
    entries_.push_back({channel.get(), ns, now});
    period_ = period_.value() > 0 ? std::min(period_, period) : period;
  }
}

void SampleSchedule::run(Instant now) noexcept {
  meter_.notice_suspend();
  const auto half = static_cast<std::int64_t>(period_.value() * 0.5e9);
  for (Entry& entry : entries_) {
    // Due within half a base period counts as due, or a channel would drift a whole one behind.
    if (entry.next_ns > now.ns + half) continue;
    entry.channel->sample();
    entry.next_ns = std::max(entry.next_ns + entry.period_ns, now.ns + entry.period_ns / 2);
  }
}

void SampleSchedule::note_missed(std::uint64_t ticks) noexcept {
  const auto base_ns = static_cast<std::int64_t>(period_.value() * 1e9);
  for (Entry& entry : entries_) {
    const auto missed = static_cast<std::int64_t>(ticks) * base_ns / entry.period_ns;
    if (missed > 0) entry.channel->note_missed(static_cast<std::uint32_t>(missed));
  }
}

Result<std::unique_ptr<Sampler>> Sampler::start(Meter& meter, Seconds every, SamplePace pace) {
  std::unique_ptr<Sampler> sampler(new Sampler(meter, every, pace));
  const Seconds period = sampler->schedule_.period();
  if (period.value() <= 0) return sampler;
  sampler->timer_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (!sampler->timer_.valid()) return Error::from_errno(errno, "starting the sampler");
  const auto ns = static_cast<std::int64_t>(period.value() * 1e9);
  const timespec interval{static_cast<time_t>(ns / 1'000'000'000),
                          static_cast<long>(ns % 1'000'000'000)};
  const itimerspec spec{interval, interval};
  if (::timerfd_settime(sampler->timer_.get(), 0, &spec, nullptr) != 0) {
    return Error::from_errno(errno, "setting the sampler's period");
  }
  const SignalsKept kept;
  sampler->thread_ = std::thread([raw = sampler.get()] { raw->loop(); });
  return sampler;
}

Sampler::~Sampler() { stop(); }

void Sampler::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  // The thread waits in a read of the timer: an expiry at once wakes it, or is there when it comes.
  const itimerspec at_once{{0, 0}, {0, 1}};
  (void)::timerfd_settime(timer_.get(), 0, &at_once, nullptr);
  thread_.join();
}

void Sampler::loop() noexcept {
  // One call a tick: a thousand polls a second more would cost a tenth of what the sampler does.
  for (;;) {
    std::uint64_t expirations = 0;
    const ssize_t got = ::read(timer_.get(), &expirations, sizeof(expirations));
    if (stopping_.load()) return;
    if (got != sizeof(expirations)) {
      if (errno != EINTR) return;
      continue;
    }
    ticks_.fetch_add(1, std::memory_order_relaxed);
    if (expirations > 1) {
      missed_.fetch_add(expirations - 1, std::memory_order_relaxed);
      schedule_.note_missed(expirations - 1);
    }
    schedule_.run(clock_.now());
  }
}

}  // namespace perjoule

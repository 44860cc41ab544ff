#include "meter/meter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "meter/cross_check.h"
#include "meter/source_closing.h"
#include "meter/sync.h"

namespace perjoule {
namespace {

/// A machine that slept less than this did not sleep: the two clocks are not read at the same
/// moment.
constexpr std::int64_t kSuspendThresholdNs = 10'000'000;

std::int64_t suspended_ns(const Clock& clock) { return clock.since_boot().ns - clock.now().ns; }

/// The gauge to ask for a counter's boundary power: of the same device and scope, the most
/// immediate one.
Source* gauge_for(const SourceInfo& counter, const std::vector<Source*>& sources) {
  Source* best = nullptr;
  for (Source* source : sources) {
    const SourceInfo& info = source->info();
    if (info.kind != SourceKind::kPowerGauge || info.overlaps != counter.id ||
        info.scope != counter.scope)
      continue;
    if (best == nullptr || info.averaging < best->info().averaging) best = source;
  }
  return best;
}

/// The source as it describes itself, or as its calibration leaves it.
SourceInfo info_of(const Source& source, const std::vector<Calibration>& calibrations) {
  for (const Calibration& calibration : calibrations) {
    if (calibration.source == source.info().id) return calibrated(source.info(), calibration);
  }
  return source.info();
}

}  // namespace

Meter::Meter(const std::vector<Source*>& sources, const Clock& clock, std::size_t timeline_bytes,
             const std::vector<Calibration>& calibrations)
    : clock_(clock), suspended_ns_(suspended_ns(clock)) {
  constexpr std::size_t kBytesPerSample = 16;
  const std::size_t capacity =
      sources.empty() ? 0 : timeline_bytes / kBytesPerSample / sources.size();
  for (Source* source : sources) {
    Source* gauge = source->info().kind == SourceKind::kEnergyCounter
                        ? gauge_for(source->info(), sources)
                        : nullptr;
    channels_.push_back(
        std::make_unique<Channel>(*source, info_of(*source, calibrations), gauge, clock, capacity));
  }
}

void Meter::notice_suspend() noexcept {
  const std::int64_t now = suspended_ns(clock_);
  std::int64_t before = suspended_ns_.load();
  if (now - before < kSuspendThresholdNs) return;
  if (!suspended_ns_.compare_exchange_strong(before, now)) return;
  for (const auto& channel : channels_) channel->rebase();
}

namespace {

const TickWatch* find_watch(const std::vector<TickWatch>& watches, const Channel& channel) {
  for (const TickWatch& watch : watches) {
    if (watch.channel == &channel) return &watch;
  }
  return nullptr;
}

}  // namespace

std::vector<TickWatch> Window::watch_ticks(TickSide side) const {
  std::vector<TickWatch> watches;
  for (const Begun& begun : begun_) {
    const SourceInfo& info = begun.channel->info();
    if (info.kind == SourceKind::kEnergyCounter && info.tick.value() > 0)
      watches.emplace_back(*begun.channel);
  }
  wait_for_ticks(watches, meter_->clock(), side);
  return watches;
}

Result<Window> Meter::begin(std::string name, WindowOptions options) {
  notice_suspend();
  Window window(*this);
  window.name_ = std::move(name);
  window.options_ = std::move(options);
  window.begun_.reserve(channels_.size());
  const auto& wanted = window.options_.sources;
  for (const auto& channel : channels_) {
    const std::string& id = channel->info().id;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), id) == wanted.end()) continue;
    window.begun_.push_back({channel.get(), {}, {}});
  }
  for (const std::string& id : wanted) {
    const bool known =
        std::any_of(window.begun_.begin(), window.begun_.end(),
                    [&](const Window::Begun& begun) { return begun.channel->info().id == id; });
    if (!known) return Error::not_found("no such source: " + id, "perjoule devices lists them");
  }
  std::vector<TickWatch> watches;
  if (window.options_.tick_aligned) watches = window.watch_ticks(TickSide::kBefore);
  // The reads of the unaligned sources come last, next to the work.
  for (Window::Begun& begun : window.begun_) {
    const TickWatch* watch = find_watch(watches, *begun.channel);
    if (watch == nullptr || watch->failed)
      begun.at = begun.channel->read(window.options_.edge_powers);
  }
  window.begin_ = clock_.now();
  for (Window::Begun& begun : window.begun_) {
    const TickWatch* watch = find_watch(watches, *begun.channel);
    if (watch == nullptr) continue;
    begun.aligned = aligned_edge(*watch, window.begin_, TickSide::kBefore);
    if (begun.aligned) begun.at = watch->newer->state;
  }
  window.begin_unix_ns_ = clock_.unix_ns();
  window.suspended_ns_ = suspended_ns_.load();
  return window;
}

Measurement Window::end() {
  if (options_.sync) {
    const Outcome synchronised = options_.sync();
    Measurement measurement =
        close(synchronised ? SyncVerdict::kSynchronised : SyncVerdict::kBusyAtEnd);
    if (!synchronised)
      measurement.notes.push_back("synchronising failed: " + synchronised.error().text());
    return measurement;
  }
  // Nobody waited for the work; a device that is still busy gives it away.
  bool busy = device_work_queued().value_or(false);
  for (const Begun& begun : begun_) busy |= begun.channel->busy() > 0;
  return close(busy ? SyncVerdict::kBusyAtEnd : SyncVerdict::kNotRequested);
}

Measurement Window::end_after_exit() { return close(SyncVerdict::kSynchronised); }

Measurement Window::close(SyncVerdict verdict, bool may_wait) {
  meter_->notice_suspend();
  const Instant end = meter_->clock_.now();
  // The requested end comes first; an aligned window then waits for what shows it in full.
  std::vector<Snapshot> at_end;
  at_end.reserve(begun_.size());
  for (const Begun& begun : begun_) at_end.push_back(begun.channel->read(options_.edge_powers));
  std::vector<TickWatch> watches;
  if (options_.tick_aligned && may_wait) watches = watch_ticks(TickSide::kAfter);
  Measurement measurement;
  measurement.sources.reserve(begun_.size());
  for (std::size_t i = 0; i < begun_.size(); ++i) {
    const Begun& begun = begun_[i];
    const TickWatch* watch = find_watch(watches, *begun.channel);
    std::optional<AlignedEdge> aligned_end;
    if (watch != nullptr) aligned_end = aligned_edge(*watch, end, TickSide::kAfter);
    const Snapshot& closing = aligned_end ? watch->older->state : at_end[i];
    SourceClosing source(*begun.channel, begun.at, closing, end - begin_);
    source.aligned(begun.aligned, aligned_end);
    source.slipped(begun.aligned ? Seconds(0) : begin_ - begun.at.read_at,
                   aligned_end ? Seconds(0) : closing.read_at - end);
    measurement.sources.push_back(source.close());
    if (watch != nullptr && !measurement.sources.back().tick_aligned)
      measurement.sources.back().notes.emplace_back("did not tick in time: not aligned");
  }
  cross_check(measurement.sources, end - begin_);
  measurement.name = name_;
  measurement.begin_unix_ns = begin_unix_ns_;
  measurement.duration = end - begin_;
  measurement.sync = verdict;
  const std::int64_t slept = meter_->suspended_ns_.load() - suspended_ns_;
  if (slept >= kSuspendThresholdNs) {
    measurement.notes.push_back(
        fmt::format("the machine slept {} meanwhile; that time and its energy are left out",
                    to_text(Seconds(static_cast<double>(slept) * 1e-9), 3)));
  }
  if (verdict == SyncVerdict::kBusyAtEnd) {
    measurement.notes.push_back(
        "a device was still busy at the closing read: work may lie outside the window");
  }
  return measurement;
}

}  // namespace perjoule

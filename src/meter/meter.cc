#include "meter/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "meter/cross_check.h"
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

namespace {

/// The state of one source over a window, turned into facts, an estimate and notes.
class SourceClosing {
 public:
  SourceClosing(const Channel& channel, const Snapshot& begin, const Snapshot& end,
                Seconds duration)
      : source_(channel.source()), begin_(begin), end_(end), duration_(duration) {
    out_.info = channel.info();
  }

  /// The source was read so long before the window's beginning and after its end, where these are
  /// not aligned.
  void slipped(Seconds early, Seconds late) {
    facts_.early = std::max(early, Seconds(0));
    facts_.late = std::max(late, Seconds(0));
  }

  /// These ends lie at ticks.
  void aligned(std::optional<AlignedEdge> begin, std::optional<AlignedEdge> end) {
    facts_.aligned_begin = begin;
    facts_.aligned_end = end;
    out_.tick_aligned = begin && end;
  }
  SourceMeasurement close() {
    facts_.difference = Joules(
        static_cast<double>(static_cast<std::int64_t>(end_.total_micro - begin_.total_micro)) *
        1e-6);
    facts_.duration = duration_;
    facts_.power_begin = begin_.power;
    facts_.power_end = end_.power;
    add_sample_statistics();
    EnergyEstimate estimate = estimate_energy(out_.info, facts_);
    const Seconds unseen = note_faults(estimate);
    if (unseen.value() > 0) {
      estimate.upper += unseen * out_.info.max_power;
      // Anything from nothing to the device's greatest power, evenly likely.
      estimate.budget.gap = Joules(std::hypot(estimate.budget.gap.value(),
                                              (unseen * typical_power()).value() / std::sqrt(3.0)));
    }
    if (duration_.value() > 0) {
      // A model's own interval stands in place of a sensor's gain error.
      if (const auto interval = source_.interval(estimate.joules / duration_)) {
        estimate.lower = interval->low * duration_;
        estimate.upper = interval->high * duration_;
        estimate.budget.gain = (estimate.upper - estimate.lower) / 4.0;
      }
    }
    out_.budget = estimate.budget;
    out_.energy = to_energy(out_.info, estimate);
    if (missing_) out_.energy.status = Status::kMissing;
    out_.energy.lower_bound = lower_bound_ && !missing_;
    return std::move(out_);
  }

 private:
  void add_sample_statistics() {
    const std::int64_t n = end_.samples - begin_.samples;
    facts_.samples = static_cast<int>(std::min<std::int64_t>(n, 1'000'000'000));
    facts_.gap = end_.gap - begin_.gap;
    if (out_.info.kind != SourceKind::kPowerGauge || n < 1) return;
    const double count = static_cast<double>(n);
    const double mean = (end_.power_sum - begin_.power_sum) / count;
    const double square = (end_.power_square_sum - begin_.power_square_sum) / count;
    facts_.spread = Watts(std::sqrt(std::max(0.0, square - mean * mean)));
    // Extremes are not kept per window; three standard deviations stand for them.
    facts_.lowest = Watts(std::max(0.0, mean - 3 * facts_.spread.value()));
    facts_.highest = Watts(mean + 3 * facts_.spread.value());
  }

  Watts typical_power() const {
    if (begin_.power) return *begin_.power;
    return duration_.value() > 0 ? facts_.difference / duration_ : Watts(0);
  }

  /// Writes the notes; answers the time about which nothing is known.
  Seconds note_faults(EnergyEstimate& estimate) {
    Seconds unseen;
    const bool counter = out_.info.kind == SourceKind::kEnergyCounter;
    if (begin_.code != ErrorCode::kOk && end_.code != ErrorCode::kOk &&
        end_.last_good <= begin_.read_at) {
      missing_ = true;
      note(fmt::format("could not be read: {}", name_of(end_.code)));
      return unseen;
    }
    if (end_.code != ErrorCode::kOk) {
      unseen = end_.read_at - std::max(end_.last_good, begin_.read_at);
      estimate.joules = facts_.difference;
      note_bound(
          fmt::format("lost {} before the end ({})", to_text(unseen, 3), name_of(end_.code)));
    }
    if (begin_.code != ErrorCode::kOk) note_bound("could not be read at the beginning");
    const auto since = [&](auto member) { return end_.faults.*member - begin_.faults.*member; };
    using Faults = CounterTrack::Faults;
    if (const auto n = since(&Faults::wraps); n > 0)
      note(fmt::format("wrapped {} time{}", n, n == 1 ? "" : "s"));
    if (const auto n = since(&Faults::resets); n > 0) note_bound("was reset");
    if (since(&Faults::leaps) > 0)
      note_bound("leapt forward by more than the device can draw, which is left out");
    if (const auto n = since(&Faults::glitches); n > 0)
      note(fmt::format("{} impossible value(s) left out", n));
    if (since(&Faults::blind) > 0) note_bound("unread for so long that it may have wrapped unseen");
    if (counter && end_.code == ErrorCode::kOk) unseen += frozen_time();
    return unseen;
  }

  /// Time during which the counter should have moved and did not.
  Seconds frozen_time() {
    const Seconds still = end_.read_at - std::max(end_.last_change, begin_.read_at);
    const Seconds patience = std::max(10.0 * out_.info.tick, Seconds(0.5));
    if (still < patience) return Seconds(0);
    // A zone that never counted anything (uncore without graphics) is silent, not frozen: still not
    // zero.
    missing_ = facts_.difference.value() == 0;
    const std::string what = fmt::format("did not move for {}", to_text(still, 3));
    if (missing_) {
      note(what + ": no energy is known");
    } else {
      note_bound(what);
    }
    return still;
  }

  /// What was drawn while that lasted is in no figure.
  void note_bound(const std::string& what) {
    lower_bound_ = true;
    note(what + ": lower bound");
  }
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  const Source& source_;
  const Snapshot& begin_;
  const Snapshot& end_;
  Seconds duration_;
  WindowFacts facts_;
  SourceMeasurement out_;
  bool missing_ = false;
  bool lower_bound_ = false;
};

}  // namespace

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

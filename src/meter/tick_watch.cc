#include "meter/tick_watch.h"

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

/// Polls are this share of a tick apart, within limits: the gap's energy (0.7 J at 700 W and 1 ms)
/// has to be small beside a tick's, and polling itself uses a processor.
constexpr double kPollShare = 0.01;
constexpr Seconds kShortestPoll{50e-6};
constexpr Seconds kLongestPoll{1e-3};
/// Two ticks are to come; a real one is now and then late.
constexpr double kPatienceTicks = 3;
constexpr Seconds kLeastPatience{0.02};

/// A counter's last state, and until when it is waited for. Its total says nothing of a tick: a
/// calibration's offset makes it grow in between.
struct Progress {
  Snapshot last;
  Instant give_up;
};

Seconds poll_pause(const std::vector<TickWatch>& watches) {
  Seconds pause = kLongestPoll;
  for (const TickWatch& watch : watches) {
    if (!watch.done()) pause = std::min(pause, kPollShare * watch.channel->info().tick);
  }
  return std::max(pause, kShortestPoll);
}

void poll(TickWatch& watch, Progress& progress, TickSide side) {
  if (watch.failed || (watch.done() && side == TickSide::kAfter)) return;
  const Snapshot now = watch.channel->read(false);
  watch.failed = now.code != ErrorCode::kOk || (now.read_at >= progress.give_up && !watch.done());
  if (now.code == ErrorCode::kOk && now.last_change != progress.last.last_change) {
    watch.failed = false;
    TickWatch::Tick tick{now, now.read_at - progress.last.read_at};
    tick.state.power = watch.channel->read(true).power;
    if (watch.newer) watch.older = watch.newer;
    (watch.older ? watch.newer : watch.older) = tick;
  }
  progress.last = now;
}

}  // namespace

void wait_for_ticks(std::vector<TickWatch>& watches, const Clock& clock, TickSide side) {
  std::vector<Progress> progress;
  progress.reserve(watches.size());
  for (TickWatch& watch : watches) {
    const Snapshot now = watch.channel->read(false);
    watch.failed = now.code != ErrorCode::kOk;
    const Seconds patience = std::max(kLeastPatience, kPatienceTicks * watch.channel->info().tick);
    progress.push_back({now, now.read_at + patience});
  }
  const auto all_done = [&watches] {
    return std::all_of(watches.begin(), watches.end(), [](const auto& w) { return w.done(); });
  };
  while (!all_done()) {
    clock.sleep_until(clock.now() + poll_pause(watches));
    for (std::size_t i = 0; i < watches.size(); ++i) poll(watches[i], progress[i], side);
  }
}

std::optional<AlignedEdge> aligned_edge(const TickWatch& watch, Instant moment, TickSide side) {
  if (watch.failed || !watch.older || !watch.newer) return std::nullopt;
  const TickWatch::Tick& beside = side == TickSide::kBefore ? *watch.newer : *watch.older;
  const Seconds between = watch.newer->moment() - watch.older->moment();
  const Seconds apart =
      side == TickSide::kBefore ? moment - beside.moment() : beside.moment() - moment;
  const Joules step(
      static_cast<double>(watch.newer->state.total_micro - watch.older->state.total_micro) * 1e-6);
  AlignedEdge edge;
  edge.gap = beside.gap;
  edge.slip = std::max(apart, Seconds(0));
  edge.power = between.value() > 0 ? step / between : Watts(0);
  const double timing = std::hypot(watch.older->gap.value(), watch.newer->gap.value()) /
                        std::sqrt(12.0) / std::max(between.value(), 1e-9);
  // How the power moved from one tick to the other, as far as a gauge tells.
  Watts moved;
  if (watch.older->state.power && watch.newer->state.power)
    moved = abs(*watch.newer->state.power - *watch.older->state.power) / 2.0;
  edge.spread =
      Watts(std::hypot(std::hypot(kSteadyPowerSpread, timing) * edge.power.value(), moved.value()));
  return edge;
}

}  // namespace perjoule

// Waiting for counters to tick, all of them together.
//
// A counter's value is as old as its last tick, so a window's ends are uncertain by a tick's energy
// (70 J at 700 W and 100 ms). Who sees the counter move knows when the value was true, to within
// the gap between two polls. The window itself begins and ends when its user says; what the counter
// took between that moment and the tick beside it is the power outside the window times the time,
// and that power is what one more tick on the outside tells.
//
//        t0        t1  begin        end   t0          t1
//   ------|---------|====|== work ===|----|-----------|----
//         '- power -'    early       late '-- power --'
#pragma once

#include <optional>
#include <vector>

#include "meter/channel.h"
#include "meter/uncertainty.h"

namespace perjoule {

/// One counter being waited for.
struct TickWatch {
  explicit TickWatch(Channel& watched) : channel(&watched) {}

  Channel* channel;
  struct Tick {
    Snapshot state;  ///< with the gauge's power, where there is a gauge
    Seconds gap;     ///< it came so long before state.read_at at most
    /// The best guess of its moment: the middle of the gap.
    Instant moment() const { return Instant{state.read_at.ns - nanoseconds(gap) / 2}; }
  };
  std::optional<Tick> older;
  std::optional<Tick> newer;
  bool failed = false;  ///< it could not be read, or did not tick in time

  bool done() const { return failed || (older && newer); }

 private:
  static std::int64_t nanoseconds(Seconds time) {
    return static_cast<std::int64_t>(time.value() * 1e9);
  }
};

/// Which two ticks are wanted: the last before the work (a counter that has ticked is watched on
/// while the others are waited for), or the first after it.
enum class TickSide { kBefore, kAfter };

/// Polls all until each has ticked twice, or three of its ticks (20 ms at least) are over
/// without. Takes up to two
/// of the slowest counter's ticks, however many there are.
void wait_for_ticks(std::vector<TickWatch>& watches, const Clock& clock, TickSide side);

/// What the two ticks say about a window's end at `moment`; none when the counter was not seen to
/// tick.
std::optional<AlignedEdge> aligned_edge(const TickWatch& watch, Instant moment, TickSide side);

}  // namespace perjoule

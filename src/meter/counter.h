// From the raw values of an energy counter to the energy used since the first look, through wraps,
// resets and glitches.
//
// A value below the last one is a wrap only when the counter has a modulus and the power it would
// take is physically possible; otherwise it is either a glitch (the next value is back on the old
// course) or a reset (the next value goes on from the new one), and which of them is decided by
// that next value. What a reset swallowed is unknown: the total is then a lower bound and says so.
//
// A move forward is never a reset. It is held against the time since the value last moved, not
// since it was last read: a counter that stood still while energy was used (a stale driver) shows
// all of it at once when it recovers. A window that began meanwhile gets what is not its own: such
// moves are remembered as thaws. One that leaps beyond even that is left out as a glitch, and
// where it goes on from there, as energy of unknown size: a lower bound too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "device/source.h"

namespace perjoule {

class CounterTrack {
 public:
  /// What has happened to the counter so far; a window compares two of these.
  struct Faults {
    std::uint32_t wraps = 0;
    std::uint32_t resets = 0;    ///< energy was lost: totals across one are lower bounds
    std::uint32_t leaps = 0;     ///< forward by more than the device can draw: left out, likewise
    std::uint32_t glitches = 0;  ///< impossible values that were left out
    std::uint32_t blind = 0;     ///< gaps so long that a second wrap could hide in them
    std::uint32_t thaws = 0;     ///< moves after a standstill: right, but of an earlier time
  };

  /// A move after the value was seen to stand still for longer than ticks explain.
  struct Thaw {
    Instant from;  ///< when the value that stood still was first read
    /// The last reading of the value before that one: the counter lived then. None where there was
    /// no reading before.
    std::optional<Instant> alive;
    std::uint64_t micro = 0;  ///< what it showed at once
  };
  /// A value that was read this many ticks apart and did not move stood still: two happen, where
  /// the device ticks late.
  static constexpr double kStandstillTicks = 3;
  static constexpr std::size_t kThawsKept = 16;

  explicit CounterTrack(const SourceInfo& info);

  /// Takes a value read at `at`. Never allocates. O(1).
  void update(std::uint64_t raw, Instant at) noexcept;
  /// Forgets the last value but not the total: what the counter did since is not to be counted
  /// (suspend).
  void rebase() noexcept;

  /// Microjoules since the first update.
  std::uint64_t total_micro() const noexcept { return total_; }
  const Faults& faults() const noexcept { return faults_; }
  /// When the value last differed from the one before it.
  Instant last_change() const noexcept { return last_change_; }
  /// The thaw of the value that was first read at `from`; none where there was none, or where so
  /// many came after it that it is not kept any more.
  std::optional<Thaw> thaw_from(Instant from) const noexcept;
  /// The last value was impossible and waits for the next one to say what it was.
  bool suspect() const noexcept { return suspect_.has_value(); }

 private:
  struct Sample {
    std::uint64_t raw;
    Instant at;
    Instant moved;  ///< when the value last differed from the one before it
  };
  /// Microjoules from `from` to `to` when that is physically possible.
  std::optional<std::uint64_t> step(const Sample& from, const Sample& to,
                                    bool& wrapped) const noexcept;
  void accept(const Sample& sample, std::uint64_t delta) noexcept;
  void note_thaw(std::uint64_t delta) noexcept;

  std::uint64_t modulus_;
  double max_micro_per_ns_;
  double slack_micro_;  ///< one tick at full power and two quanta arrive at once
  std::optional<Sample> last_;
  std::optional<Sample> suspect_;
  std::uint64_t total_ = 0;
  Instant last_change_;
  std::optional<Instant> alive_;  ///< the last reading of the value before the present one
  std::int64_t standstill_ns_;
  Faults faults_;
  std::array<Thaw, kThawsKept> thaws_;  ///< the last ones, in a ring
};

}  // namespace perjoule

// What happened in the control of a real fleet: a decision with its reasons and what became of it,
// or something about a server or instance that its owner should know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "fleet/control/load_forecast.h"

namespace perjoule {

/// What a pool was decided on.
struct PoolReasons {
  double load = 0;  ///< prompt tokens a second, as PoolView has it
  double recent_peak = 0;
  double caution = 1;
  double carried = 0;  ///< by all that serve, at the highest clock
  /// What its servers are counted for; none where they are not, or no period began yet.
  std::optional<ExpectedLoad> expected = {};
};

struct FleetEvent {
  enum class Kind : std::uint8_t {
    kClock,  ///< `value` is the clock that was asked for
    kStart,
    kDrain,
    kStop,
    kReshard,
    kSpill,  ///< where requests of a pool should go is its router's to do
    kNote,   ///< no decision: something about a server or instance
  };
  enum class Result : std::uint8_t {
    kDone,
    kBegun,
    kWould,  ///< a dry run
    kFailed,
    kNone,  ///< of a note
  };
  Kind kind = Kind::kNote;
  Result result = Result::kNone;
  Seconds at = {};
  std::string subject = {};             ///< a server's, instance's or pool's name
  std::string text = {};                ///< what, in words
  std::string failure = {};             ///< why it failed
  bool is_trouble = false;              ///< of a note
  std::optional<PoolReasons> why = {};  ///< of a decision
};
/// "clock", "start", ...
std::string_view name_of(FleetEvent::Kind kind);
/// "done", "begun", "would", "failed"; empty for none.
std::string_view name_of(FleetEvent::Result result);

}  // namespace perjoule

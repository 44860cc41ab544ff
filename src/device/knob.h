// A setting of the hardware that changes its power: limits, clocks, profiles, governors. Values are
// text with unit ("300 W", "1410 MHz", "performance"), as in a Config, because the journal, the
// tables and the user all write them that way.
//
// Knobs are not turned directly but through a KnobJournal (journal.h), which remembers what was
// found.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace perjoule {

struct KnobInfo {
  std::string id;      ///< "gpu:GPU-8f2c.../power-limit": key of the journal
  std::string device;  ///< "gpu:GPU-8f2c..."
  std::string name;    ///< "power limit", "clock", "governor"
  std::string unit;    ///< "W", "MHz"; empty for words
  double minimum = 0;  ///< in that unit; both 0 when there is no range
  double maximum = 0;
  std::vector<std::string> choices;  ///< the words it takes; empty for numbers
  bool combinable = false;           ///< several choices can be joined by '+'
  std::string default_value;         ///< the vendor's default, when it is known
  bool survives_reboot = false;  ///< GPU limits do not: a journal entry of an older boot is void
};

class Knob {
 public:
  virtual ~Knob() = default;
  virtual const KnobInfo& info() const = 0;
  /// The value asked for at present, in the form set() takes.
  virtual Result<std::string> get() = 0;
  /// What is really in force; lower than get() when someone else caps the device too.
  virtual Result<std::string> enforced() { return get(); }
  /// Asks for a value. invalid_argument outside the range, permission_denied without the right to.
  virtual Outcome set(const std::string& value) = 0;
};

/// The number in a knob's value, after checking it against the range; messages name the knob and
/// the range.
Result<double> knob_number(const KnobInfo& info, const std::string& value);

/// Whether the knob takes such a value: a number within the range, or one of its words. Messages
/// name the knob and what it takes.
Outcome check_knob_value(const KnobInfo& info, const std::string& value);

}  // namespace perjoule

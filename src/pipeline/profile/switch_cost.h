// What it takes to change a GPU's setting between two instructions, beside what they take.
//
//   from_frequency,to_frequency,time
//   1050,1410,0.0029
//
// Hardware takes unlike times for unlike changes: up is not down, and far is not near.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

struct SwitchCost {
  Seconds time = {};   ///< the next instruction begins so much later, if it could begin at once
  Joules energy = {};  ///< above what waiting takes meanwhile
  Seconds dwell = {};  ///< plans keep each setting for instructions of so long together at least
  struct Pair {
    Config from;
    Config to;
    Seconds time;
  };
  /// Of these changes, instead of `time`. The last one of a pair counts.
  std::vector<Pair> pairs = {};

  bool any() const;
  /// Of a change between two settings. O(pairs).
  Seconds time_of(const Config& from, const Config& to) const;
  /// Of all changes that are told.
  Seconds longest() const;
};

/// A table of from_ and to_ columns, one pair for each knob of the profile, and `time` (s): the
/// changes' times, and the longest of them as that of all others. Refuses with file and line a
/// column that lacks its other half, and a time below zero.
Result<SwitchCost> read_switch_times(const std::string& path);
/// The pairs as that table.
std::string switch_times_csv(const SwitchCost& cost);

}  // namespace perjoule

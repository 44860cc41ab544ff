// What comes to a pool, as its controllers see it: the load of the last half a minute, its peak of
// the last minutes, and whether requests were late of late.
//
//   PoolLoad load;
//   load.arrived(request.prompt);
//   load.ended(in_time);
//   load.close_window(Seconds(5), 0.95);     // at every tick
//   controller sees load.rate(), load.recent_peak(), load.caution()
#pragma once

#include <cstdint>

#include "base/units.h"

namespace perjoule {

class PoolLoad {
 public:
  void arrived(double prompt_tokens) { window_tokens_ += prompt_tokens; }
  void ended(bool in_time) { (in_time ? met_ : missed_) += 1; }
  /// Takes up what came since the last call, `length` ago, above 0.
  void close_window(Seconds length, double least_attainment);

  /// Prompt tokens a second, of the last half a minute mostly.
  double rate() const { return rate_; }
  /// The highest rate, forgotten over five minutes.
  double recent_peak() const { return recent_peak_; }
  /// By how much more than the load is to be planned for: above 1 where fewer requests than were
  /// wanted had their tokens in time during the last minute.
  double caution() const { return caution_; }

 private:
  double window_tokens_ = 0;
  double rate_ = 0;
  double recent_peak_ = 0;
  double met_ = 0;
  double missed_ = 0;
  double caution_ = 1;
};

}  // namespace perjoule

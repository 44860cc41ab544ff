// Knobs that a process holds for as long as it lives, or until it lets go of them.
//
//   ProcessLeases held(book, clock);
//   PJ_CHECK(held.hold("gpu:GPU-1/power-limit", "300 W", who));
//   PJ_CHECK(held.let_go("gpu:GPU-1/power-limit", who));       // else when the process has ended
//
// Each is a lease of the book, renewed while its process lives. Once a second all are looked at: a
// process that has ended, however it did, has its knobs put back; that a number has been given to
// another process since is seen by the time that one started. Should nobody look any more, the
// leases end by themselves. A knob that another process holds is refused. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/repeating_thread.h"
#include "device/journal.h"
#include "server/knobs/lease_book.h"

namespace perjoule {

class ProcessLeases {
 public:
  struct Holder {
    ProcessIdentity process;
    std::string name;  ///< "user:1000's process 4242"
  };
  /// Both must outlive it. `looks_by_itself` false: for tests, which call look().
  ProcessLeases(LeaseBook& book, const Clock& clock, bool looks_by_itself = true);
  /// Everything is given back.
  ~ProcessLeases();

  /// Takes the knob, or gives the one held another value. conflict where another holds it,
  /// permission_denied for a process that cannot be seen to live; else as LeaseBook::take.
  Outcome hold(const std::string& knob, const std::string& value, const Holder& holder);
  /// Nothing where nobody holds it; conflict where another process does.
  Outcome let_go(const std::string& knob, const Holder& holder);
  bool holds(const std::string& knob, const Holder& holder) const;
  /// Ends the leases of processes that have ended, and renews the others'.
  void look();
  std::size_t held() const;

 private:
  struct Held {
    std::string lease;
    Holder holder;
  };
  /// Gives the lease back where its process has ended; else the conflict.
  Outcome make_way(const std::string& knob, const Holder& holder);
  Outcome take(const std::string& knob, const std::string& value, const Holder& holder);

  LeaseBook& book_;
  const Clock& clock_;
  mutable std::mutex mutex_;          // the one below
  std::map<std::string, Held> held_;  ///< by knob
  RepeatingThread thread_;            // last: it uses all else
};

}  // namespace perjoule

// Knobs on loan: whoever holds a lease has the knob at his value until the lease ends, is given
// back, or was not renewed in time; then it is put back as it was found.
//
//   LeaseBook book(hand, clock);
//   PJ_TRY(const Lease lease, book.take({.knob = "gpu:GPU-1/power-limit", .value = "300 W",
//                                        .length = Seconds(60), .owner = who.name}));
//   PJ_TRY(lease, book.renew(lease.id, who.name, {}, Seconds(60)));
//   PJ_CHECK(book.give_back(lease.id, who.name));
//
// A knob has one lease at most: who asks for one that another holds is told who that is, and until
// when. Any thread; turning is done one knob at a time. A knob that its driver does not take back
// stays in the book, and is tried again each time that the book is looked through.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/repeating_thread.h"
#include "server/knobs/knob_hand.h"

namespace perjoule {

struct Lease {
  std::string id;
  std::string knob;
  std::string value;     ///< that was asked for
  std::string in_force;  ///< an out-of-band cap may hold it below
  std::string owner;
  std::string purpose;  ///< in the owner's words
  Instant ends;
  std::int64_t ends_unix_ms = 0;
  std::string trouble;  ///< why it could not be put back; empty: it was not tried, or not needed
};

/// {"schema":"perjoule.lease.v1", ...}.
Json to_json(const Lease& lease, Instant now);

class LeaseBook {
 public:
  struct Request {
    std::string knob;
    std::string value;
    Seconds length;
    std::string owner;
    std::string purpose = {};
  };
  static constexpr Seconds kShortest{1};
  static constexpr Seconds kLongest{86'400};

  /// Both must outlive it. `looks_by_itself` false: for tests, which call end_overdue().
  LeaseBook(KnobHand& hand, const Clock& clock, bool looks_by_itself = true);
  /// Everything is put back.
  ~LeaseBook();

  /// conflict where it is leased, invalid_argument for a length outside the bounds; else as
  /// KnobHand::turn.
  Result<Lease> take(const Request& request);
  /// Another end, and another value where one is given. not_found where it has ended,
  /// permission_denied where it is another's.
  Result<Lease> renew(const std::string& id, const std::string& owner,
                      const std::optional<std::string>& value, Seconds length);
  /// An admin may give back anybody's.
  Outcome give_back(const std::string& id, const std::string& owner, bool is_admin);
  Result<Lease> find(const std::string& id) const;
  /// Waits for no driver.
  std::vector<Lease> all() const;
  /// Puts back what is overdue.
  void end_overdue();
  /// Puts back everything; the error says what could not be.
  Outcome end_all();

 private:
  Result<Lease*> own(const std::string& id, const std::string& owner, bool is_admin);
  Outcome put_back(Lease& lease);
  /// For those who only look.
  void show();

  KnobHand& hand_;
  const Clock& clock_;
  std::mutex mutex_;  // what follows, and the hand: held while a driver is waited for
  std::map<std::string, Lease> leases_;  ///< by id
  mutable std::mutex shown_mutex_;       // the one below
  std::shared_ptr<const std::vector<Lease>> shown_ = std::make_shared<const std::vector<Lease>>();
  RepeatingThread thread_;  // last: it uses all else
};

}  // namespace perjoule

// Leave the machine as found: every knob is written down before it is turned and put back
// afterwards, on exit, on a signal the program handles, and, after a crash, by the next perjoule
// process that opens knobs.
//
//   PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), machine));   // puts back what
//   a dead process left PJ_TRY(std::string in_force, journal.turn(*knob, "300 W"));           //
//   journalled, set, read back journal.restore(); // also by the destructor
//
// One file a knob, holding the value found and the process that turned the knob (pid, start time,
// boot). A knob that a living process holds is refused. Two entries never exist for one knob.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/discovery.h"
#include "device/knob.h"

namespace perjoule {

/// /run/perjoule/knobs for root, else a folder below the user's state folder. PERJOULE_KNOBS
/// overrides it.
std::string journal_folder();

/// A process that cannot be mistaken for a later one of the same pid.
struct ProcessIdentity {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< since boot, from /proc/PID/stat
  std::string boot_id;

  static ProcessIdentity current();
  bool alive() const;
};

/// A knob that a process turned and did not put back.
struct DeadEntry {
  std::string knob;
  std::string original;
  std::int64_t pid = 0;
  bool this_boot = true;  ///< false: a reboot has put most knobs back by itself
};
/// The entries whose process is gone, without touching them.
std::vector<DeadEntry> dead_entries(const std::string& folder);

class KnobJournal {
 public:
  /// Opens the journal and replays the entries of dead processes, each as far as its knob is on
  /// this machine. What was put back is told by replayed(); what could not be stays in the journal
  /// and is a problem.
  static Result<KnobJournal> open(std::string folder, const Inventory& machine);
  KnobJournal(KnobJournal&& other) noexcept = default;
  KnobJournal& operator=(KnobJournal&&) = delete;
  ~KnobJournal();

  /// Journals the knob's present value (once), sets it, and answers the value that is in force,
  /// which an out-of-band cap may hold below what was asked. conflict when another living process
  /// holds the knob.
  Result<std::string> turn(Knob& knob, const std::string& value);
  /// Puts back everything this journal turned, last first. Tries all and reports the first failure.
  Outcome restore();

  const std::vector<std::string>& replayed() const { return replayed_; }
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  struct Turned {
    Knob* knob;
    std::string original;
    std::string path;
  };
  explicit KnobJournal(std::string folder) : folder_(std::move(folder)) {}
  void replay(const Inventory& machine);
  void replay_entry(const std::string& path, const Inventory& machine);

  std::string folder_;
  std::vector<Turned> turned_;
  std::vector<std::string> replayed_;
  std::vector<Problem> problems_;
};

}  // namespace perjoule

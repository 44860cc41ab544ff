// Leave the machine as found: every knob is written down before it is turned and put back
// afterwards, on exit, on a signal the program handles, and, after a crash, by the next perjoule
// process that looks at the machine (replay_dead).
//
//   // Puts back what a dead process left:
//   PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), machine));
//   // Journalled, set, read back:
//   PJ_TRY(std::string in_force, journal.turn(*knob, "300 W"));
//   journal.restore();  // also by the destructor
//
// One file a knob, holding the value found and the process that turned the knob (pid, start time,
// boot, host, pid namespace). A knob that a living process holds is refused. Two entries never
// exist for one knob. A folder may be shared by several hosts (a home on NFS) or containers: whose
// processes cannot be seen from here, their entries are left alone.
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
  std::string host = {};           ///< empty: this one
  std::string pid_namespace = {};  ///< as /proc/self/ns/pid has it; empty: this one

  static ProcessIdentity current();
  /// A process that can be seen from here; kDead at once where there is none of that number.
  static ProcessIdentity of(std::int64_t pid);
  enum class Fate {
    kAlive,
    kDead,
    kRebooted,   ///< dead, and its boot is over
    kElsewhere,  ///< of another host or container: nobody here can tell
  };
  Fate fate() const;
};

/// A knob that a process turned and did not put back.
struct DeadEntry {
  std::string knob;
  std::string original;
  std::int64_t pid = 0;
  bool this_boot = true;   ///< false: a reboot has put most knobs back by itself
  bool elsewhere = false;  ///< of another host or container: it may well be alive
};
/// The entries whose process is gone or cannot be seen, without touching them.
std::vector<DeadEntry> dead_entries(const std::string& folder);

/// What a replay did.
struct Replay {
  std::vector<std::string> put_back;  ///< a sentence each
  std::vector<Problem> problems;      ///< entries that stay, each with its remedy
};

/// Puts back every knob of this machine that a dead process left turned, as far as this process may
/// set it. Entries of living processes are not touched. Costs one look at the folder where nothing
/// is left.
Replay replay_dead(const std::string& folder, const Inventory& machine);

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
  /// Puts back everything this journal turned, last first. Tries all and reports the first failure;
  /// what failed is tried again by the next call, and by the next process at last.
  Outcome restore();

  const std::vector<std::string>& replayed() const { return replay_.put_back; }
  const std::vector<Problem>& problems() const { return replay_.problems; }

 private:
  struct Turned {
    Knob* knob;
    std::string original;
    std::string path;
  };
  explicit KnobJournal(std::string folder) : folder_(std::move(folder)) {}
  /// The value to put back, journalled with this process as the owner.
  Result<std::string> enter(Knob& knob, const std::string& path) const;

  std::string folder_;
  std::vector<Turned> turned_;
  Replay replay_;
};

}  // namespace perjoule

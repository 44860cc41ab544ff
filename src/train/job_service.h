// Recurring trainings that share what they learn: each asks for its batch size, tells its progress
// epoch by epoch and hears when to stop. Several may run at once, from different processes.
//
//   PJ_TRY(JobService service, ...);
//   PJ_CHECK(service.create(definition));
//   PJ_TRY(const Trial trial, service.ask("nightly"));
//   ... train with trial.batch_size ...
//   PJ_TRY(const Verdict verdict, service.report("nightly", trial.number, progress));
//
// The state of a job is its log (store/event_log.h): created, asked, epoch, ended. Every call
// replays it, O(entries), so that there is nothing to recover after a crash, and appends under the
// log's lock, so that concurrent trainers see one another. Chances are drawn from (seed, trial
// number): the same log always leads to the same choice.
//
// A trainer that is not heard of for `timeout` is taken for dead at the next call: what it reported
// counts as spent by the job. One such end does not speak against the batch size, two in a row do
// (kSilentEnds), so that a size whose trainers always crash does not come up for ever. Should it
// report after all, it is taken back. A metric that is no finite number means that the training
// diverged: it is stopped, and its batch size has failed.
//
// Silence is measured on the machine's own clock (Clock::since_boot) as long as it has not been
// started anew in between, else on the wall clock: setting the clock gives nobody up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/event_log.h"
#include "train/batch_size_policy.h"

namespace perjoule {

struct JobDefinition {
  std::string name;  ///< letters, digits, '-', '_' and '.'
  JobSpec spec;
  double eta = 0.5;
  Watts max_power;  ///< the largest power limit over all GPUs of the job
  double target = 0;
  bool higher_is_better = true;
  int most_epochs = 100;
  std::string policy = "perjoule";  ///< or "zeus"
  std::uint64_t seed = 1;
  Seconds timeout{86400};
};

/// A training to do.
struct Trial {
  std::int64_t number = 0;  ///< from 1
  int batch_size = 0;
};

/// Running totals of a training, at the end of an epoch; energy and time of validation included.
struct TrialProgress {
  int epochs = 0;
  Joules energy;
  Seconds time;
  double metric = 0;  ///< NaN or infinite: the training diverged
};

/// A moment as it stands in a log that outlives processes and machines.
struct Stamp {
  std::int64_t unix_ns = 0;
  std::string boot;          ///< identity of the running system; empty: not known
  std::int64_t boot_ns = 0;  ///< Clock::since_boot
};

/// More than any training takes: some 278 GWh, and 32 years. What a report has beyond is a slip of
/// unit, and would spoil every mean of the job for good.
constexpr Joules kMostTrialEnergy{1e15};
constexpr Seconds kMostTrialTime{1e9};

enum class Verdict {
  kContinue,
  kReached,  ///< the target: done, this recurrence is over
  kStop,     ///< too dear, or too many epochs: ask again
};
std::string_view name_of(Verdict verdict);  ///< "continue", "reached", "stop"

/// Ends without a result of one batch size in a row, lost or abandoned, from which on they count
/// against it.
constexpr int kSilentEnds = 2;

enum class TrialState { kRunning, kReached, kStopped, kAbandoned, kLost, kDiverged };
std::string_view name_of(TrialState state);

struct TrialRecord {
  Trial trial;
  TrialState state = TrialState::kRunning;
  TrialProgress progress;  ///< last reported
  Joules cost;             ///< of that
  Stamp asked;
  Stamp heard;
  Seconds silence;  ///< of a lost one: how long it had been silent
};

/// One recurrence of the job: the trainings since the last one that reached the target.
struct RecurrenceRecord {
  int trainings = 0;
  Joules energy;  ///< energy to accuracy (ETA)
  Seconds time;   ///< time to accuracy (TTA)
  Joules cost;
};

struct JobStatus {
  JobDefinition definition;
  std::vector<TrialRecord> trials;
  std::vector<RecurrenceRecord> recurrences;  ///< that reached the target, oldest first
  /// Trainings that ended since: right-censored, its energy and time are lower bounds of ETA and
  /// TTA.
  RecurrenceRecord unfinished;
  Joules energy;  ///< of all trainings, lost ones included, as reported
  Seconds time;
  /// What lost trainings are likely to have taken beyond their last report: as much as those that
  /// reached the target did in the mean, but no more than Pmax times their silence; none when none
  /// has reached it.
  std::optional<Joules> unreported;
  std::optional<Joules> lowest_cost;  ///< of a recurrence
};

class JobService {
 public:
  /// The log and the clock must outlive it. `boot`: identity of the running system
  /// (/proc/sys/kernel/random/boot_id); empty: silence is measured on the wall clock.
  JobService(EventLog& log, const Clock& clock, std::string boot = {})
      : log_(log), clock_(clock), boot_(std::move(boot)) {}

  /// The same definition again is fine; a different one under that name is a conflict.
  Outcome create(const JobDefinition& definition);
  /// not_found for a job there is not.
  Result<Trial> ask(const std::string& job);
  /// Totals must not go back, nor exceed kMostTrialEnergy and kMostTrialTime. The last report of a
  /// trial that has ended may be repeated and has the same answer; any other is a conflict. One
  /// that was given up as lost is running again. not_found for a trial there is not.
  Result<Verdict> report(const std::string& job, std::int64_t trial, const TrialProgress& progress);
  /// The trainer gives up without a verdict (it failed): as if it had been lost, but now.
  Outcome abandon(const std::string& job, std::int64_t trial);
  Result<JobStatus> status(const std::string& job) const;
  Result<std::vector<std::string>> list() const;
  Outcome remove(const std::string& job);

 private:
  Stamp now() const { return {clock_.unix_ns(), boot_, clock_.since_boot().ns}; }

  EventLog& log_;
  const Clock& clock_;
  std::string boot_;
};

}  // namespace perjoule

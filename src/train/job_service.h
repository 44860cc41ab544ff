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
// counts as spent by the job; its batch size is not blamed, because nothing is known of it, and
// will be tried again when its turn comes.
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
  double metric = 0;
};

enum class Verdict {
  kContinue,
  kReached,  ///< the target: done, this recurrence is over
  kStop,     ///< too dear, or too many epochs: ask again
};
std::string_view name_of(Verdict verdict);  ///< "continue", "reached", "stop"

enum class TrialState { kRunning, kReached, kStopped, kAbandoned, kLost };
std::string_view name_of(TrialState state);

struct TrialRecord {
  Trial trial;
  TrialState state = TrialState::kRunning;
  TrialProgress progress;  ///< last reported
  Joules cost;             ///< of that
  std::int64_t asked_unix_ns = 0;
  std::int64_t heard_unix_ns = 0;
};

struct JobStatus {
  JobDefinition definition;
  std::vector<TrialRecord> trials;
  int recurrences = 0;  ///< that reached the target
  Joules energy;        ///< of all trainings, lost ones included
  Seconds time;
  std::optional<Joules> lowest_cost;  ///< of a recurrence
};

class JobService {
 public:
  /// The log and the clock must outlive it.
  JobService(EventLog& log, const Clock& clock) : log_(log), clock_(clock) {}

  /// The same definition again is fine; a different one under that name is a conflict.
  Outcome create(const JobDefinition& definition);
  /// not_found for a job there is not.
  Result<Trial> ask(const std::string& job);
  /// Totals must not go back. conflict for a trial that has ended or was given up as lost;
  /// not_found for one there is not.
  Result<Verdict> report(const std::string& job, std::int64_t trial, const TrialProgress& progress);
  /// The trainer gives up without a verdict (it failed): as if it had been lost, but now.
  Outcome abandon(const std::string& job, std::int64_t trial);
  Result<JobStatus> status(const std::string& job) const;
  Result<std::vector<std::string>> list() const;
  Outcome remove(const std::string& job);

 private:
  EventLog& log_;
  const Clock& clock_;
};

}  // namespace perjoule

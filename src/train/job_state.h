// A recurring job as its log tells it. For job_service.cc; see job_service.h.
#pragma once

#include <map>
#include <memory>

#include "train/job_service.h"

namespace perjoule {

/// The policy that a definition asks for. invalid_argument for one there is not.
Result<std::unique_ptr<BatchSizePolicy>> policy_of(const JobDefinition& definition);

/// What a trainer is answered, and how its trial stands then.
struct Judgement {
  Verdict verdict = Verdict::kContinue;
  TrialState state = TrialState::kRunning;
};

class JobState {
 public:
  /// Replays a log. not_found for an empty one, data_loss for entries that make no sense, naming
  /// the first.
  static Result<JobState> replay(const std::string& job, const EventLog::Entries& entries);

  const JobDefinition& definition() const { return status_.definition; }
  JobStatus status() const;
  TrialRecord* find(std::int64_t trial);

  /// The entries that end every trial that has been silent for longer than the timeout.
  EventLog::Entries lost(const Stamp& now) const;
  Trial next(const Stamp& now) const;
  Judgement judge(const TrialRecord& record, const TrialProgress& progress) const;

  /// Takes one more entry in.
  Outcome apply(const Json& entry);

 private:
  Outcome created(const Json& entry);
  Outcome asked(const Json& entry);
  Outcome epoch(const Json& entry);
  Outcome ended(const Json& entry);
  void tell_policy(const TrialRecord& record);
  std::optional<Joules> unreported() const;
  Joules cost_of(const TrialProgress& progress) const;

  JobStatus status_;
  std::unique_ptr<BatchSizePolicy> policy_;
  std::map<int, int> silent_;  ///< by batch size: ends without a result in a row
  /// What of a trial stands in which recurrence already, should one that was lost report after all.
  struct Charge {
    TrialProgress progress;
    std::size_t recurrence = 0;
  };
  void take_back(std::int64_t trial);
  std::map<std::int64_t, Charge> charged_;
  Seconds slowest_epoch_;  ///< of any training
};

}  // namespace perjoule

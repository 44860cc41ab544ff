// A recurring job as its log tells it. For job_service.cc; see job_service.h.
#pragma once

#include <memory>

#include "train/job_service.h"

namespace perjoule {

class JobState {
 public:
  /// Replays a log. not_found for an empty one, data_loss for entries that make no sense, naming
  /// the first.
  static Result<JobState> replay(const std::string& job, const EventLog::Entries& entries);

  const JobDefinition& definition() const { return status_.definition; }
  const JobStatus& status() const { return status_; }
  TrialRecord* find(std::int64_t trial);

  /// The entry that ends every trial not heard of since before `now` by the timeout.
  EventLog::Entries lost(std::int64_t now_unix_ns) const;
  Trial next() const;
  Verdict judge(const TrialRecord& record, const TrialProgress& progress) const;

  /// Takes one more entry in.
  Outcome apply(const Json& entry);

 private:
  Outcome created(const Json& entry);
  Outcome asked(const Json& entry);
  Outcome epoch(const Json& entry);
  Outcome ended(const Json& entry);
  Joules cost_of(const TrialProgress& progress) const;

  JobStatus status_;
  std::unique_ptr<BatchSizePolicy> policy_;
  Joules recurrence_cost_;  ///< of the running recurrence's failed trainings
};

Json entry_of(const JobDefinition& definition);
Json entry_of(const Trial& trial, std::int64_t unix_ns);
Json entry_of(std::int64_t trial, const TrialProgress& progress, std::int64_t unix_ns);
Json ending_of(std::int64_t trial, TrialState state, std::int64_t unix_ns);

}  // namespace perjoule

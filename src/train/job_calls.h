// The calls of recurring jobs, answered as documents: by a log here, or by somebody elsewhere who
// has it.
#pragma once

#include <string>

#include "train/job_documents.h"

namespace perjoule {

class JobCalls {
 public:
  virtual ~JobCalls() = default;
  /// Each as JobService's of that name.
  virtual Result<Json> create(const JobDefinition& definition) = 0;
  virtual Result<Json> ask(const std::string& job) = 0;
  virtual Result<Json> report(const std::string& job, const TrialReport& report) = 0;
  virtual Result<Json> abandon(const std::string& job, std::int64_t trial) = 0;
  virtual Result<Json> show(const std::string& job) = 0;
  virtual Result<Json> list() = 0;
  virtual Result<Json> remove(const std::string& job) = 0;
};

/// By a service on a log, which must outlive it.
class ServedJobCalls final : public JobCalls {
 public:
  explicit ServedJobCalls(JobService service) : service_(std::move(service)) {}

  Result<Json> create(const JobDefinition& definition) override;
  Result<Json> ask(const std::string& job) override;
  Result<Json> report(const std::string& job, const TrialReport& report) override;
  Result<Json> abandon(const std::string& job, std::int64_t trial) override;
  Result<Json> show(const std::string& job) override;
  Result<Json> list() override;
  Result<Json> remove(const std::string& job) override;

 private:
  JobService service_;
};

}  // namespace perjoule

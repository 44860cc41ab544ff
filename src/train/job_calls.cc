#include "train/job_calls.h"

namespace perjoule {

Result<Json> ServedJobCalls::create(const JobDefinition& definition) {
  PJ_CHECK(service_.create(definition));
  return job_document(definition.name);
}

Result<Json> ServedJobCalls::ask(const std::string& job) {
  PJ_TRY(const Trial trial, service_.ask(job));
  return trial_document(job, trial);
}

Result<Json> ServedJobCalls::report(const std::string& job, const TrialReport& report) {
  PJ_TRY(const Verdict verdict, service_.report(job, report.trial, report.progress));
  return verdict_document(job, report.trial, verdict);
}

Result<Json> ServedJobCalls::abandon(const std::string& job, std::int64_t trial) {
  PJ_CHECK(service_.abandon(job, trial));
  return trial_document(job, {.number = trial});
}

Result<Json> ServedJobCalls::show(const std::string& job) {
  PJ_TRY(const JobStatus status, service_.status(job));
  return status_document(status);
}

Result<Json> ServedJobCalls::list() {
  PJ_TRY(const std::vector<std::string> jobs, service_.list());
  return jobs_document(jobs);
}

Result<Json> ServedJobCalls::remove(const std::string& job) {
  PJ_CHECK(service_.remove(job));
  return job_document(job);
}

}  // namespace perjoule

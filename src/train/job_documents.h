// What recurring jobs are told and asked, as JSON, the same from the command line and over HTTP
// (docs/formats.md, docs/serve.md).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "train/job_service.h"

namespace perjoule {

Json job_document(const std::string& job);                 ///< perjoule.train-job.v1
Json jobs_document(const std::vector<std::string>& jobs);  ///< perjoule.train-jobs.v1
/// perjoule.train-trial.v1; without a batch size for one that is given up.
Json trial_document(const std::string& job, const Trial& trial);
Json verdict_document(const std::string& job, std::int64_t trial, Verdict verdict);
Json status_document(const JobStatus& status);  ///< perjoule.train-status.v1

/// A definition without its name: what it takes to make a job known.
Json definition_document(const JobDefinition& definition);
/// What is left out is as JobDefinition has it, but for the batch sizes, the default one, the
/// target and the largest power, which must be there. invalid_argument for members that are of
/// another kind, or that there are not.
Result<JobDefinition> read_definition(const std::string& job, const Json& document);

/// {"trial", "epochs", "energy_j", "time_s", "metric"}; a metric of null: the training diverged.
struct TrialReport {
  std::int64_t trial = 0;
  TrialProgress progress;
};
Json report_document(const TrialReport& report);
Result<TrialReport> read_report(const Json& document);
/// {"trial"} alone.
Result<std::int64_t> read_trial(const Json& document);

}  // namespace perjoule

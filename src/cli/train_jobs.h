// Where recurring jobs are: in this user's store, or with a daemon that has one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "train/job_calls.h"

namespace perjoule::cli {

/// Of a store's file, made where it is missing.
Result<std::unique_ptr<JobCalls>> open_jobs(const std::string& store);

/// --daemon.
void add_daemon_option(std::vector<Option>& options);
/// Those of --daemon where it is given, with the token in PERJOULE_TOKEN; else of the user's store.
Result<std::unique_ptr<JobCalls>> jobs_of(const Arguments& arguments);

}  // namespace perjoule::cli

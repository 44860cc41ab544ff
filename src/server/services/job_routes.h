// Recurring trainings that share what they learn, for trainers on other machines.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "server/http/route.h"
#include "train/job_calls.h"

namespace perjoule {

/// Opens the jobs for one request: an object of them serves one thread.
using OpenJobs = std::function<Result<std::unique_ptr<JobCalls>>()>;

/// /api/v1/jobs, jobs/{job}, and jobs/{job}/next, report and abandon.
std::vector<Route> job_routes(const OpenJobs& open);

}  // namespace perjoule

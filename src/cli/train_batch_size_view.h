// A recurring job's trainings so far, as a document and as text.
#pragma once

#include <string>

#include "base/json.h"
#include "train/job_service.h"

namespace perjoule::cli {

/// perjoule.train-status.v1 (docs/formats.md).
Json json_of(const JobStatus& status);
std::string text_of(const JobStatus& status);

}  // namespace perjoule::cli

// A recurring job's trainings so far, as text.
#pragma once

#include <string>

#include "base/json.h"

namespace perjoule::cli {

/// Of perjoule.train-status.v1 (docs/formats.md).
std::string text_of_job_status(const Json& status);

}  // namespace perjoule::cli

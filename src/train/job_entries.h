// The entries of a recurring job's log (store/event_log.h), written and read. For job_service.cc
// and job_state.cc.
#pragma once

#include "base/json.h"
#include "train/job_service.h"

namespace perjoule {

Json entry_of(const JobDefinition& definition);
Json entry_of(const Trial& trial, const Stamp& at);
Json entry_of(std::int64_t trial, const TrialProgress& progress, const Stamp& at);
Json ending_of(std::int64_t trial, TrialState state, const Stamp& at);

/// What an entry says; data_loss where it does not.
Result<JobDefinition> definition_of(const Json& entry);
Result<TrialProgress> progress_of(const Json& entry);
Result<TrialState> state_of(const Json& entry);
Result<double> number_of(const Json& entry, std::string_view name);
Stamp stamp_of(const Json& entry);

}  // namespace perjoule

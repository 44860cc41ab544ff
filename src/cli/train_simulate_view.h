// What train simulate found: as documents (docs/formats.md) and as tables.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/table.h"
#include "train/evaluate.h"
#include "train/job_groups.h"

namespace perjoule::cli {

/// What is expected of a workload from its records alone: of its default and of its best pair, with
/// the notes of its trace; `pairs`: of every batch size and limit.
Json expected_json(const WorkloadTrace& trace, const JobCost& cost, bool pairs);
/// The same, of several, as a table and the notes below it.
std::string expected_text(const std::vector<WorkloadTrace>& traces, double eta);

Json json_of(const WorkloadTrace& trace, const PolicyChoice& choice,
             const PolicyEvaluation& result);
Table evaluation_table();
std::vector<std::string> evaluation_row(const WorkloadTrace& trace, const PolicyChoice& choice,
                                        const PolicyEvaluation& result);

/// One data set (or all) of a cluster under one policy, one entry a seed.
Json json_of(const std::string& dataset, const PolicyChoice& choice,
             const std::vector<GroupTotals>& seeds);
Table cluster_table();
std::vector<std::string> cluster_row(const std::string& dataset, const PolicyChoice& choice,
                                     const std::vector<GroupTotals>& seeds);

}  // namespace perjoule::cli

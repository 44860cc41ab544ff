// Several ranks and nodes are one job: every rank may measure, and nothing is counted twice.
//
// Ranks of one host see the same devices over nearly the same time. Merging takes, for each source
// of each host, the union of the spans that its ranks measured: a span that two ranks share is
// counted once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace perjoule {

/// This process's place in a parallel job.
struct RankIdentity {
  std::string launcher;  ///< "slurm", "mpi", "torchrun"
  std::string job;       ///< the same for all ranks of the job
  std::int64_t rank = 0;
  std::int64_t local_rank = 0;
  std::int64_t size = 1;
};

using VariableLookup = std::function<std::string(const char*)>;  ///< empty when unset

/// From the variables of torchrun, Open MPI or PMIx, or Slurm, in this order: torchrun's own ranks
/// are the finest where it runs inside a Slurm step. None outside a parallel job.
std::optional<RankIdentity> find_rank(const VariableLookup& variable);

Json to_json(const RankIdentity& rank);

/// One document perjoule.run.v1 of the whole job out of those of its ranks. `total` and `sources`
/// cover each host's sources once; `time` runs from the first beginning to the last end; units are
/// given as sum over ranks and as the largest (for steps that all ranks take together).
/// invalid_argument on a document that is no run, or on none at all.
Result<Json> merge_runs(const std::vector<Json>& documents);

}  // namespace perjoule

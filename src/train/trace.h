// Recorded trainings: how many epochs a batch size took to the target, and what an epoch took under
// each power limit. What a trace-driven simulation draws from.
//
//   PJ_TRY(const TraceTables tables, TraceTables::read("zeus_nsdi23", "v100"));
//   PJ_TRY(const WorkloadTrace trace, tables.select(workload));
//
// The tables are those of Zeus (You et al., NSDI 2023): summary_train.csv and
// summary_power_<gpu>.csv.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// A recurring training job: a network on a data set, trained until a metric is reached.
struct Workload {
  std::string name;  ///< "resnet50"
  std::string dataset;
  std::string network;
  std::string optimizer;
  double target = 0;      ///< of the metric
  int most_epochs = 100;  ///< a training is given up after so many
  int default_batch = 0;  ///< what its user runs it with; lowered to the largest recorded one
};

/// One epoch, measured under one power limit.
struct LimitRecord {
  Watts limit;
  Seconds epoch_time;
  Watts power;
  Joules epoch_energy() const { return power * epoch_time; }
};

struct BatchRecord {
  int batch_size = 0;
  std::vector<std::optional<int>> epochs;  ///< to the target, one a recorded run; none: never
  std::vector<LimitRecord> limits;         ///< highest limit first
};

struct WorkloadTrace {
  Workload workload;                 ///< with the default batch size lowered where it must be
  Watts max_power;                   ///< the largest limit recorded for any workload on that GPU
  std::vector<BatchRecord> batches;  ///< ascending; those with both runs and limits
  /// Where the records do not hold what was asked for, and what takes its place: a default batch
  /// size above the largest recorded one, a default without the highest limit, other holes.
  std::vector<std::string> notes;

  /// Index of a batch size in batches; none when it is not recorded.
  std::optional<std::size_t> index_of(int batch_size) const;
};

class TraceTables {
 public:
  /// Reads a folder's tables for one GPU. Errors name file, line and column.
  static Result<TraceTables> read(const std::string& folder, const std::string& gpu);

  /// The part of one workload. A limit that is not recorded for a batch size is not offered with
  /// it; a default batch size above the largest recorded one is lowered to it; notes say so.
  /// not_found when nothing is recorded, or a default below the largest is not; invalid_argument
  /// for two records of one pair.
  Result<WorkloadTrace> select(const Workload& workload) const;

 private:
  TraceTables(CsvTable training, CsvTable power)
      : training_(std::move(training)), power_(std::move(power)) {}
  CsvTable training_;
  CsvTable power_;
};

/// Workloads of a table with the columns name, dataset, network, optimizer, target, most_epochs,
/// default_batch.
Result<std::vector<Workload>> read_workloads(const std::string& path);
/// The six of Zeus's evaluation (data/zeus_workloads.csv).
const std::vector<Workload>& zeus_workloads();

}  // namespace perjoule

#include "train/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace perjoule {

extern const std::string_view kZeusWorkloadsCsv;

namespace {

/// The rows of one workload: where its words stand.
struct WorkloadColumns {
  std::size_t dataset, network, optimizer, batch_size;

  static Result<WorkloadColumns> of(const CsvTable& table) {
    WorkloadColumns columns{};
    PJ_TRY(columns.dataset, table.require_column("dataset"));
    PJ_TRY(columns.network, table.require_column("network"));
    PJ_TRY(columns.optimizer, table.require_column("optimizer"));
    PJ_TRY(columns.batch_size, table.require_column("batch_size"));
    return columns;
  }
  bool match(const CsvTable& table, std::size_t row, const Workload& workload) const {
    return table.cell(row, dataset) == workload.dataset &&
           table.cell(row, network) == workload.network &&
           table.cell(row, optimizer) == workload.optimizer;
  }
};

std::string place(const CsvTable& table, std::size_t row, std::size_t column) {
  return fmt::format("{}: line {}, column '{}'", table.name(), table.line(row),
                     table.columns()[column]);
}

Result<int> count_at(const CsvTable& table, std::size_t row, std::size_t column) {
  PJ_TRY(const double number, table.number(row, column));
  if (number < 1 || number > 1e9 || number != static_cast<int>(number))
    return Error::invalid_argument(
        fmt::format("{}: not a count above 0: {}", place(table, row, column), number));
  return static_cast<int>(number);
}

Result<double> positive_at(const CsvTable& table, std::size_t row, std::size_t column) {
  PJ_TRY(const double number, table.number(row, column));
  if (number > 0) return number;
  return Error::invalid_argument(
      fmt::format("{}: not above 0: {}", place(table, row, column), number));
}

using Batches = std::map<int, BatchRecord>;

Outcome add_runs(const CsvTable& table, const Workload& workload, Batches& batches) {
  PJ_TRY(const WorkloadColumns columns, WorkloadColumns::of(table));
  PJ_TRY(const std::size_t target, table.require_column("target_metric"));
  PJ_TRY(const std::size_t epoch, table.require_column("target_epoch"));
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!columns.match(table, row, workload)) continue;
    PJ_TRY(const double metric, table.number(row, target));
    if (metric != workload.target) continue;
    PJ_TRY(const int batch_size, count_at(table, row, columns.batch_size));
    std::optional<int> epochs;
    const std::string_view text = trim(table.cell(row, epoch));
    if (!text.empty() && text != "nan") {
      PJ_TRY(epochs, count_at(table, row, epoch));
    }
    batches[batch_size].epochs.push_back(epochs);
  }
  return {};
}

Outcome add_limits(const CsvTable& table, const Workload& workload, Batches& batches,
                   Watts& max_power) {
  PJ_TRY(const WorkloadColumns columns, WorkloadColumns::of(table));
  PJ_TRY(const std::size_t limit_column, table.require_column("power_limit"));
  PJ_TRY(const std::size_t time_column, table.require_column("time_per_epoch"));
  PJ_TRY(const std::size_t power_column, table.require_column("average_power"));
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const double limit, positive_at(table, row, limit_column));
    max_power = std::max(max_power, Watts(limit));
    if (!columns.match(table, row, workload)) continue;
    PJ_TRY(const int batch_size, count_at(table, row, columns.batch_size));
    PJ_TRY(const double time, positive_at(table, row, time_column));
    PJ_TRY(const double power, positive_at(table, row, power_column));
    batches[batch_size].limits.push_back({Watts(limit), Seconds(time), Watts(power)});
  }
  return {};
}

Outcome check_limits(const BatchRecord& batch, const CsvTable& table) {
  for (std::size_t i = 1; i < batch.limits.size(); ++i) {
    if (batch.limits[i].limit == batch.limits[i - 1].limit) {
      return Error::invalid_argument(fmt::format("{}: batch size {} has two rows for {:.0f} W",
                                                 table.name(), batch.batch_size,
                                                 batch.limits[i].limit.value()));
    }
  }
  return {};
}

/// "64 (250 W), 128 (100 W, 125 W)": what is not recorded, of the limits that other sizes have.
std::string holes(const WorkloadTrace& trace) {
  std::set<Watts, std::greater<>> all;
  for (const BatchRecord& batch : trace.batches) {
    for (const LimitRecord& record : batch.limits) all.insert(record.limit);
  }
  std::string text;
  for (const BatchRecord& batch : trace.batches) {
    std::string missing;
    for (const Watts limit : all) {
      const bool there = std::any_of(batch.limits.begin(), batch.limits.end(),
                                     [&](const auto& record) { return record.limit == limit; });
      if (!there) missing += fmt::format("{}{:g} W", missing.empty() ? "" : ", ", limit.value());
    }
    if (missing.empty()) continue;
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", batch.batch_size, missing);
  }
  return text;
}

void add_notes(WorkloadTrace& trace, int asked_default) {
  const int usual = trace.workload.default_batch;
  if (usual != asked_default) {
    trace.notes.push_back(
        fmt::format("its default batch size {} is not recorded: {}, the largest recorded one, is "
                    "taken for the default",
                    asked_default, usual));
  }
  const Watts highest = trace.batches[*trace.index_of(usual)].limits.front().limit;
  if (highest < trace.max_power) {
    trace.notes.push_back(
        fmt::format("its default batch size {} is not recorded at {:g} W, the highest limit of "
                    "that GPU: {:g} W "
                    "is taken for the default's limit",
                    usual, trace.max_power.value(), highest.value()));
  }
  if (const std::string text = holes(trace); !text.empty())
    trace.notes.push_back("not recorded, and so not offered: batch size " + text);
}

Result<std::vector<Workload>> workloads_of(const CsvTable& table) {
  PJ_TRY(const std::size_t name, table.require_column("name"));
  PJ_TRY(const std::size_t dataset, table.require_column("dataset"));
  PJ_TRY(const std::size_t network, table.require_column("network"));
  PJ_TRY(const std::size_t optimizer, table.require_column("optimizer"));
  PJ_TRY(const std::size_t target, table.require_column("target"));
  PJ_TRY(const std::size_t most_epochs, table.require_column("most_epochs"));
  PJ_TRY(const std::size_t default_batch, table.require_column("default_batch"));
  std::vector<Workload> workloads;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Workload workload;
    workload.name = table.cell(row, name);
    workload.dataset = table.cell(row, dataset);
    workload.network = table.cell(row, network);
    workload.optimizer = table.cell(row, optimizer);
    PJ_TRY(workload.target, table.number(row, target));
    PJ_TRY(workload.most_epochs, count_at(table, row, most_epochs));
    PJ_TRY(workload.default_batch, count_at(table, row, default_batch));
    workloads.push_back(std::move(workload));
  }
  if (workloads.empty()) return Error::invalid_argument(table.name() + ": no workload in it");
  return workloads;
}

}  // namespace

std::optional<std::size_t> WorkloadTrace::index_of(int batch_size) const {
  const auto at =
      std::lower_bound(batches.begin(), batches.end(), batch_size,
                       [](const BatchRecord& batch, int size) { return batch.batch_size < size; });
  if (at == batches.end() || at->batch_size != batch_size) return std::nullopt;
  return static_cast<std::size_t>(at - batches.begin());
}

Result<TraceTables> TraceTables::read(const std::string& folder, const std::string& gpu) {
  PJ_TRY(CsvTable training, read_csv(folder + "/summary_train.csv"));
  PJ_TRY(CsvTable power, read_csv(folder + "/summary_power_" + gpu + ".csv"));
  return TraceTables(std::move(training), std::move(power));
}

Result<WorkloadTrace> TraceTables::select(const Workload& workload) const {
  WorkloadTrace trace;
  trace.workload = workload;
  Batches batches;
  PJ_CHECK(add_runs(training_, workload, batches));
  PJ_CHECK(add_limits(power_, workload, batches, trace.max_power));
  for (auto& [size, batch] : batches) {
    batch.batch_size = size;
    if (batch.epochs.empty() || batch.limits.empty()) continue;
    std::sort(batch.limits.begin(), batch.limits.end(),
              [](const LimitRecord& a, const LimitRecord& b) { return a.limit > b.limit; });
    PJ_CHECK(check_limits(batch, power_));
    trace.batches.push_back(std::move(batch));
  }
  if (trace.batches.empty()) {
    return Error::not_found(
        fmt::format("nothing recorded of {} ({} on {} with {} to {:g}) in {} and {}", workload.name,
                    workload.network, workload.dataset, workload.optimizer, workload.target,
                    training_.name(), power_.name()));
  }
  int& start = trace.workload.default_batch;
  start = std::min(start, trace.batches.back().batch_size);
  if (!trace.index_of(start)) {
    return Error::not_found(fmt::format("{}: its default batch size {} is not recorded in {}",
                                        workload.name, start, power_.name()));
  }
  add_notes(trace, workload.default_batch);
  return trace;
}

Result<std::vector<Workload>> read_workloads(const std::string& path) {
  PJ_TRY(const CsvTable table, read_csv(path));
  return workloads_of(table);
}

const std::vector<Workload>& zeus_workloads() {
  static const std::vector<Workload> workloads = [] {
    const auto table = parse_csv(kZeusWorkloadsCsv, "zeus_workloads.csv");
    return table ? workloads_of(*table).value_or(std::vector<Workload>()) : std::vector<Workload>();
  }();
  return workloads;
}

}  // namespace perjoule

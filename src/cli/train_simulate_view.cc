#include "cli/train_simulate_view.h"

#include <fmt/format.h>

#include "base/text.h"

namespace perjoule::cli {
namespace {

// Nothing is saved against a baseline that nobody knows.
constexpr const char* kUnknown = "-";

Json json_of(const Statistic& value) {
  Json json = Json::object();
  json["mean"] = value.mean;
  json["standard_error"] = value.error;
  return json;
}

Json unless_censored(const PolicyEvaluation& result, const Statistic& value) {
  return result.default_censored ? Json() : json_of(value);
}

Json json_of(const ToAccuracy& value, const std::string& unit) {
  Json json = Json::object();
  json["mean_" + unit] = value.mean.mean;
  json["standard_error_" + unit] = value.mean.error;
  json["count"] = value.count;
  json["censored"] = value.censored;
  if (value.lower_bound()) json["lower_bound"] = true;
  return json;
}

std::string with_error(const Statistic& value, double scale, int decimals) {
  const double error = value.error * scale;
  const std::string mean = fixed(value.mean * scale, decimals);
  return error > 0 ? mean + " +- " + fixed(2 * error, decimals) : mean;
}

/// "at least 5.9 MJ (3 of 70)" where recurrences never reached the target.
template <typename Quantity>
std::string text_of(const ToAccuracy& value) {
  std::string mean = to_text(Quantity(value.mean.mean), 4);
  if (value.lower_bound()) {
    return fmt::format("at least {} ({} of {})", mean, value.censored, value.count);
  }
  // What rounding leaves where every recurrence is the same is no spread.
  if (value.mean.error < 1e-9 * value.mean.mean) return mean;
  return mean + " +- " + to_text(Quantity(2 * value.mean.error), 2);
}

/// The mean over jobs; error over seeds, or over the jobs of one.
ToAccuracy to_accuracy(const std::vector<GroupTotals>& seeds,
                       std::vector<double> GroupTotals::*figures) {
  ToAccuracy result;
  std::vector<double> means;
  for (const GroupTotals& seed : seeds) {
    const Statistic over_jobs = statistic(seed.*figures);
    result.mean = over_jobs;
    means.push_back(over_jobs.mean);
    result.count += seed.jobs;
    result.censored += seed.unreached;
  }
  if (seeds.size() > 1) result.mean = statistic(means);
  return result;
}

template <typename Figure>
Statistic over(const std::vector<GroupTotals>& seeds, const Figure& figure) {
  std::vector<double> values;
  values.reserve(seeds.size());
  for (const GroupTotals& seed : seeds) values.push_back(figure(seed));
  return statistic(values);
}

Statistic energy_saved(const std::vector<GroupTotals>& seeds) {
  return over(seeds, [](const GroupTotals& each) { return 1 - each.energy / each.default_energy; });
}

Statistic time_saved(const std::vector<GroupTotals>& seeds) {
  return over(seeds, [](const GroupTotals& each) { return 1 - each.time / each.default_time; });
}

Json pair_json(int batch_size, Watts limit, Joules energy, Seconds time, Joules cost) {
  Json json = Json::object();
  json["batch_size"] = batch_size;
  json["limit_w"] = limit.value();
  json["eta_j"] = energy.value();
  json["tta_s"] = time.value();
  json["cost_j"] = cost.value();
  return json;
}

/// Every pair of every batch size that always reaches the target; the others' runs are counted.
void add_pairs(Json& json, const WorkloadTrace& trace, const JobCost& cost) {
  Json pairs = Json::array();
  Json censored = Json::array();
  for (const BatchRecord& batch : trace.batches) {
    if (const auto epochs = mean_epochs(batch, trace.workload.most_epochs)) {
      for (const LimitRecord& record : batch.limits) {
        const Joules energy = record.epoch_energy() * *epochs;
        const Seconds time = record.epoch_time * *epochs;
        pairs.push_back(
            pair_json(batch.batch_size, record.limit, energy, time, cost.of(energy, time)));
      }
      continue;
    }
    int missed = 0;
    for (const auto& epochs : batch.epochs)
      missed += epochs && *epochs <= trace.workload.most_epochs ? 0 : 1;
    Json entry = Json::object();
    entry["batch_size"] = batch.batch_size;
    entry["count"] = static_cast<std::int64_t>(batch.epochs.size());
    entry["censored"] = missed;
    censored.push_back(std::move(entry));
  }
  json["pairs"] = std::move(pairs);
  json["censored_batch_sizes"] = std::move(censored);
}

struct Best {
  int batch_size;
  Watts limit;
  Joules energy;
  Seconds time;
  Joules cost;
};

std::optional<Best> best_of(const WorkloadTrace& trace, const JobCost& cost) {
  const auto found = cheapest(trace, cost);
  if (!found) return std::nullopt;
  const BatchRecord& batch = trace.batches[found->place.batch];
  const LimitRecord& record = batch.limits[found->place.limit];
  const double epochs = *mean_epochs(batch, trace.workload.most_epochs);
  return Best{batch.batch_size, record.limit, record.epoch_energy() * epochs,
              record.epoch_time * epochs, found->cost};
}

}  // namespace

Json expected_json(const WorkloadTrace& trace, const JobCost& cost, bool pairs) {
  Json json = Json::object();
  json["name"] = trace.workload.name;
  json["max_power_w"] = trace.max_power.value();
  const DefaultJob usual = default_job(trace);
  Json baseline = pair_json(usual.batch_size, usual.limit, usual.energy, usual.time,
                            cost.of(usual.energy, usual.time));
  // What it takes until it is given up is no mean of what it takes to the target.
  if (usual.censored) baseline["eta_j"] = baseline["tta_s"] = baseline["cost_j"] = Json();
  baseline["censored"] = usual.censored;
  json["default"] = std::move(baseline);
  const auto best = best_of(trace, cost);
  json["best"] =
      best ? pair_json(best->batch_size, best->limit, best->energy, best->time, best->cost)
           : Json();
  if (pairs) add_pairs(json, trace, cost);
  Json notes = Json::array();
  for (const std::string& note : trace.notes) notes.push_back(note);
  json["notes"] = std::move(notes);
  return json;
}

std::string expected_text(const std::vector<WorkloadTrace>& traces, double eta) {
  using Align = Table::Align;
  Table table({{"EXPECTED OF"},
               {"DEFAULT"},
               {"ETA", Align::kRight},
               {"TTA", Align::kRight},
               {"BEST PAIR"},
               {"ETA", Align::kRight},
               {"TTA", Align::kRight}});
  std::string notes;
  const auto pair = [](int batch_size, Watts limit) {
    return fmt::format("batch {}, {:g} W", batch_size, limit.value());
  };
  for (const WorkloadTrace& trace : traces) {
    const DefaultJob usual = default_job(trace);
    const std::string bound = usual.censored ? "unknown" : "";
    std::vector<std::string> row = {trace.workload.name, pair(usual.batch_size, usual.limit),
                                    usual.censored ? bound : to_text(usual.energy, 4),
                                    usual.censored ? bound : to_text(usual.time, 4)};
    const auto cost = JobCost::make(eta, trace.max_power);
    if (const auto best = cost ? best_of(trace, *cost) : std::nullopt) {
      row.insert(row.end(), {pair(best->batch_size, best->limit), to_text(best->energy, 4),
                             to_text(best->time, 4)});
    }
    table.add(std::move(row));
    const std::string beginning = "note: " + trace.workload.name + ": ";
    for (const std::string& note : trace.notes) notes += beginning + note + "\n";
    if (usual.censored) {
      notes += beginning +
               "recorded trainings of its default miss the target: nobody knows what it takes, and "
               "nothing is saved against it\n";
    }
  }
  return table.text() + (notes.empty() ? "" : "\n" + notes);
}

Json json_of(const WorkloadTrace& trace, const PolicyChoice& choice,
             const PolicyEvaluation& result) {
  Json json = Json::object();
  json["workload"] = trace.workload.name;
  json["policy"] = choice.name;
  json["recurrences"] = result.recurrences;
  json["eta"] = json_of(result.eta, "j");
  json["tta"] = json_of(result.tta, "s");
  json["default_censored"] = result.default_censored;
  json["last_energy_saved"] = unless_censored(result, result.last_energy_saved);
  json["last_time_saved"] = unless_censored(result, result.last_time_saved);
  json["energy_saved"] = unless_censored(result, result.energy_saved);
  json["time_saved"] = unless_censored(result, result.time_saved);
  json["regret"] = json_of(result.regret);
  if (result.eta.lower_bound()) json["regret"]["lower_bound"] = true;
  json["runs"] = json_of(result.runs);
  json["failed"] = json_of(result.failed);
  json["cheaper_seeds"] = result.default_censored ? Json() : Json(result.cheaper_seeds);
  json["amortised_at"] = unless_censored(result, result.amortised);
  json["picked_batch"] = result.picked_batch;
  json["picked_limit_w"] = result.picked_limit.value();
  json["picked_share"] = result.picked_share;
  return json;
}

Table evaluation_table() {
  using Align = Table::Align;
  return Table({{"WORKLOAD"},
                {"POLICY"},
                {"JOBS", Align::kRight},
                {"ETA", Align::kRight},
                {"TTA", Align::kRight},
                {"LAST 5: ENERGY %", Align::kRight},
                {"TIME %", Align::kRight},
                {"ALL: ENERGY %", Align::kRight},
                {"TIME %", Align::kRight},
                {"REGRET", Align::kRight},
                {"PICK"},
                {"OF LAST 10", Align::kRight}});
}

std::vector<std::string> evaluation_row(const WorkloadTrace& trace, const PolicyChoice& choice,
                                        const PolicyEvaluation& result) {
  const auto saved = [&](const Statistic& value) {
    return result.default_censored ? kUnknown : with_error(value, 100, 1);
  };
  const std::string bound = result.eta.lower_bound() ? "at least " : "";
  return {trace.workload.name,
          choice.name,
          std::to_string(result.recurrences),
          text_of<Joules>(result.eta),
          text_of<Seconds>(result.tta),
          saved(result.last_energy_saved),
          saved(result.last_time_saved),
          saved(result.energy_saved),
          saved(result.time_saved),
          bound + with_error(result.regret, 1, 2),
          fmt::format("batch {}, {:g} W", result.picked_batch, result.picked_limit.value()),
          percent(result.picked_share, 0)};
}

Json json_of(const std::string& dataset, const PolicyChoice& choice,
             const std::vector<GroupTotals>& seeds) {
  const bool censored = seeds.front().default_censored;
  const auto mean = [&](const auto& figure) { return over(seeds, figure).mean; };
  Json json = Json::object();
  json["dataset"] = dataset;
  json["policy"] = choice.name;
  json["jobs"] = seeds.front().jobs;
  json["runs"] = mean([](const GroupTotals& each) { return static_cast<double>(each.runs); });
  json["unreached"] =
      mean([](const GroupTotals& each) { return static_cast<double>(each.unreached); });
  json["eta"] = json_of(to_accuracy(seeds, &GroupTotals::job_energy), "j");
  json["tta"] = json_of(to_accuracy(seeds, &GroupTotals::job_time), "s");
  json["energy_j"] = mean([](const GroupTotals& each) { return each.energy.value(); });
  json["time_s"] = mean([](const GroupTotals& each) { return each.time.value(); });
  json["default_censored"] = censored;
  json["default_energy_j"] = censored ? Json() : Json(seeds.front().default_energy.value());
  json["default_time_s"] = censored ? Json() : Json(seeds.front().default_time.value());
  json["energy_saved"] = censored ? Json() : json_of(energy_saved(seeds));
  json["time_saved"] = censored ? Json() : json_of(time_saved(seeds));
  return json;
}

Table cluster_table() {
  using Align = Table::Align;
  return Table({{"DATA SET"},
                {"POLICY"},
                {"JOBS", Align::kRight},
                {"RUNS", Align::kRight},
                {"ETA", Align::kRight},
                {"TTA", Align::kRight},
                {"ENERGY SAVED %", Align::kRight},
                {"TIME SAVED %", Align::kRight}});
}

std::vector<std::string> cluster_row(const std::string& dataset, const PolicyChoice& choice,
                                     const std::vector<GroupTotals>& seeds) {
  const bool censored = seeds.front().default_censored;
  const double runs =
      over(seeds, [](const GroupTotals& each) { return static_cast<double>(each.runs); }).mean;
  return {dataset,
          choice.name,
          std::to_string(seeds.front().jobs),
          fmt::format("{:.0f}", runs),
          text_of<Joules>(to_accuracy(seeds, &GroupTotals::job_energy)),
          text_of<Seconds>(to_accuracy(seeds, &GroupTotals::job_time)),
          censored ? kUnknown : with_error(energy_saved(seeds), 100, 1),
          censored ? kUnknown : with_error(time_saved(seeds), 100, 1)};
}

}  // namespace perjoule::cli

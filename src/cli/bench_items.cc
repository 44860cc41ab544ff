// perjoule bench run --items N -- COMMAND: the energy of an image, a video or an answer of a job
// that is no server.
#include <fmt/format.h>

#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/text.h"
#include "cli/bench_job.h"
#include "cli/bench_load.h"
#include "cli/measure_options.h"
#include "cli/table.h"
#include "meter/command_run.h"
#include "workload/bench_result_json.h"

namespace perjoule::cli {
namespace {

constexpr std::size_t kTimelineBytes = 8U << 20U;

struct Items {
  double count = 0;
  std::optional<std::int64_t> batch;
  BenchKind kind = BenchKind::kImage;
};

Result<Items> read_items(const Arguments& arguments) {
  Items items;
  PJ_TRY(const auto count, read_count(arguments, "items"));
  if (!count) {
    return Error::invalid_argument("how many items the command makes is not said", "--items 64");
  }
  items.count = static_cast<double>(*count);
  PJ_TRY(items.batch, read_count(arguments, "batch"));
  if (items.batch && *items.batch > *count)
    return Error::invalid_argument("--batch: more than --items");
  const std::string kind = arguments.value("kind");
  if (kind == "text") {
    items.kind = BenchKind::kText;
  } else if (kind == "video") {
    items.kind = BenchKind::kVideo;
  } else if (kind != "image") {
    return Error::invalid_argument("--kind " + kind + ": text, image or video is wanted");
  }
  return items;
}

/// The energy of one, and how long a batch took: by the batches that the command reported, else of
/// all of it.
BenchResult result_of(const Items& items, const CommandResult& run, BenchContext context) {
  BenchResult result;
  result.benchmark = "Perjoule bench";
  result.task = std::move(context.task);
  result.kind = items.kind;
  result.model = std::move(context.model);
  result.engine = std::move(context.engine);
  result.gpus = context.gpus;
  result.parallel = context.parallel;
  result.settings = context.settings;
  result.batch.size = items.batch;
  const Energy total = run.measurement.total();
  const Seconds duration = run.measurement.duration;
  if (total.status != Status::kMissing) {
    const Energy one = total / items.count;
    (items.kind == BenchKind::kText    ? result.energy.response
     : items.kind == BenchKind::kVideo ? result.energy.video
                                       : result.energy.image) = one;
    result.power = run.measurement.mean_power();
  }
  result.rates.items = items.count / duration.value();
  if (items.kind == BenchKind::kText) result.rates.responses = result.rates.items;
  const double batches = run.units > 0 ? run.units
                         : items.batch ? items.count / static_cast<double>(*items.batch)
                                       : 1;
  Seconds batch = duration / batches;
  if (!run.unit_costs.empty()) {
    double units = 0;
    Seconds time;
    for (const UnitCost& cost : run.unit_costs) {
      time += cost.time * cost.units;
      units += cost.units;
    }
    batch = time / units;
  }
  result.latency.batch = batch;
  result.evidence.window = duration;
  if (run.end.status != 0)
    result.validity.push_back(fmt::format("the command ended with status {}", run.end.status));
  return result;
}

std::string text_of(const BenchResult& result, const Items& items, const CommandResult& run) {
  const Energy total = run.measurement.total();
  const std::string unit(items.kind == BenchKind::kText ? "answer" : name_of(items.kind));
  std::string text = fmt::format("{} in {}, {} at a time, a batch took {}\n",
                                 counted(items.count, unit), to_text(run.measurement.duration, 4),
                                 items.batch ? std::to_string(*items.batch) : "any number",
                                 to_text(*result.latency.batch, 4));
  Table table({{"ENERGY"}, {"", Table::Align::kRight}, {"STATUS"}, {"BOUNDARY"}, {"GRADE"}});
  const auto add = [&table](const std::string& what, const Energy& energy) {
    table.add({what, with_uncertainty(energy), energy.status_text(),
               std::string(name_of(energy.boundary)), std::string(name_of(energy.grade()))});
  };
  add(with_article(unit), total / items.count);
  add("the whole job", total);
  text += table.text();
  if (result.power) text += fmt::format("mean power {}\n", to_text(*result.power, 4));
  for (const std::string& note : run.measurement.notes) text += "note: " + note + "\n";
  for (const std::string& reason : result.validity) text += "void: " + reason + "\n";
  return text;
}

}  // namespace

Result<int> measure_items(const Arguments& arguments) {
  PJ_TRY(const Items items, read_items(arguments));
  PJ_CHECK(check_bench_outputs(arguments));
  CommandOptions options;
  options.spawn.arguments = arguments.command();
  options.spawn.output_to_error = arguments.json();
  options.count_units = true;
  options.unit = "batch";
  PJ_TRY(options.every, read_period(arguments));
  const RealClock clock;
  PJ_TRY(const BenchMachine machine, BenchMachine::find(arguments, clock));
  PJ_TRY(BenchContext context, read_bench_context(arguments));
  machine.describe(context);
  context.model.id = arguments.has("model") ? arguments.value("model") : "unnamed";
  context.task = arguments.has("task-name") ? arguments.value("task-name")
                                            : fmt::format("{} job", name_of(items.kind));
  Meter meter(machine.sources(), clock, kTimelineBytes, machine.calibrations());
  PJ_TRY(const CommandResult run, run_command(meter, options));
  const BenchResult result = result_of(items, run, std::move(context));
  Json document = to_json(result);
  Json more = Json::object();
  more["items"] = items.count;
  more["duration_s"] = run.measurement.duration.value();
  more["batches"] = run.units;
  more["energy"] = to_json(run.measurement.total());
  more["command_status"] = run.end.status;
  document["run"] = std::move(more);
  PJ_CHECK(deliver_bench(arguments, document, text_of(result, items, run)));
  if (run.signal != 0) return kSignalled + run.signal;
  return run.end.status != 0 ? kAnswerIsNo : kDone;
}

}  // namespace perjoule::cli

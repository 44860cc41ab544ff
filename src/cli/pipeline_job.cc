#include "cli/pipeline_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/energy_text.h"
#include "base/private_folder.h"
#include "base/text.h"
#include "cli/machine.h"
#include "cli/pipeline_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "meter/command_run.h"
#include "pipeline/runtime/plan_server.h"

namespace perjoule::cli {
namespace {

/// A process is seen dead a moment after its socket has closed.
constexpr Seconds kLookForDead{3};

using Summary = PlanService::Summary;

/// Stretches of one phase and settings as one: the rounds of a profile.
std::vector<Summary> folded(const std::vector<Summary>& all) {
  std::vector<Summary> rows;
  for (const Summary& one : all) {
    const bool profiles = one.phase == RuntimePhase::kProfile;
    if (!profiles || rows.empty() || rows.back().phase != one.phase) {
      rows.push_back(one);
      if (profiles) rows.back().name = "settings in turn";
      continue;
    }
    Summary& sum = rows.back();
    const auto mine = static_cast<double>(sum.iterations);
    const auto its = static_cast<double>(one.iterations);
    if (mine + its <= 0) continue;
    sum.time = (sum.time * mine + one.time * its) / (mine + its);
    sum.energy = (sum.energy * mine + one.energy * its) / (mine + its);
    sum.iterations += one.iterations;
  }
  return rows;
}

/// Where other programs say that a pipeline straggles.
void tell_of_server(const std::string& path) {
  complain("the plan server listens at " + path +
           " (perjoule pipeline straggler PIPELINE --slowdown FACTOR --server it)");
}

/// Puts back the clocks of ranks that ended with the command, without a word. One may outlive the
/// process that started it by a moment.
void put_back_after(const PlanServer& server, const Inventory& machine, const Clock& clock) {
  for (const Instant end = clock.now() + kLookForDead;;) {
    // Asked before the look at the journal: who dies in between is looked for once more.
    const std::vector<ProcessIdentity> ranks = server.not_left();
    const auto living = std::count_if(ranks.begin(), ranks.end(), [](const auto& rank) {
      return rank.fate() == ProcessIdentity::Fate::kAlive;
    });
    tell(replay_dead(journal_folder(), machine));
    if (living == 0) return;
    if (clock.now() > end) {
      complain(
          fmt::format("still running when the command has ended: {}, whose clocks are "
                      "their own to put back",
                      counted(static_cast<double>(living), "rank")));
      return;
    }
    clock.sleep_until(clock.now() + Seconds(0.01));
  }
}

void show_saving(const PlanService& service) {
  const auto both = service.comparison();
  if (!both) return;
  const Energy saved = both->highest.energy - both->plan.energy;
  const double of = both->highest.energy.joules.value();
  print(fmt::format(
      "\nThe plan saves {} of {} an iteration ({} +- {}), in {:.4f} of the time. {}, {}, grade "
      "{}.\n{}\n",
      with_uncertainty(saved), with_uncertainty(both->highest.energy),
      percent(saved.joules.value() / of), percent(saved.expanded_uncertainty().value() / of),
      both->plan.time / both->highest.time, saved.status_text(), name_of(saved.boundary),
      name_of(saved.grade()),
      both->in_turns
          ? fmt::format("Compared in turns: {} iterations of the plan, before and behind {} "
                        "at the highest setting.",
                        both->plan.iterations, both->highest.iterations)
          : "Compared one behind the other, not in turns: what the GPUs warmed up in between is in "
            "it."));
}

}  // namespace

std::vector<Option> pipeline_job_options() {
  std::vector<Option> options = {
      {"stages", "COUNT", "of the pipeline; with a profile or an order file as they have it"}};
  for (Option& option : schedule_options()) options.push_back(std::move(option));
  const std::vector<Option> own = {
      {"pipelines", "COUNT", "data-parallel replicas, which wait for one another", "1"},
      {"tensor", "COUNT", "GPUs, and ranks, that share each stage", "1"},
      {"clocks", "LIST",
       "to profile, MHz, the highest first; eight from the GPU's highest down "
       "to 55 % of it otherwise"},
      {"rounds", "COUNT", "how often each setting is profiled", "5"},
      {"warm-up", "COUNT", "iterations before anything is measured", "2"},
  };
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

Result<PipelineJob> read_pipeline_job(const Arguments& arguments) {
  PipelineJob job;
  job.schedule = arguments.value("schedule");
  PJ_TRY(job.shape, read_schedule_shape(arguments));
  job.shape.stages = 0;
  if (arguments.has("stages")) {
    PJ_TRY(job.shape.stages, read_size(arguments, "stages"));
  }
  if (job.shape.stages == 0 && job.shape.microbatches > 0 && !arguments.has("profile")) {
    return Error::invalid_argument("--stages is missing", "say how many the pipeline has");
  }
  PJ_TRY(job.pipelines, read_size(arguments, "pipelines"));
  PJ_TRY(job.tensor, read_size(arguments, "tensor"));
  return job;
}

Outcome read_profiling(const Arguments& arguments, RuntimeRequest& request) {
  PJ_TRY(request.rounds, read_size(arguments, "rounds"));
  const auto warm_up = parse_integer(arguments.value("warm-up"));
  if (!warm_up || *warm_up < 0 || *warm_up > 1'000'000)
    return Error::invalid_argument("--warm-up " + arguments.value("warm-up") + ": not a count");
  request.warm_up = static_cast<int>(*warm_up);
  if (!arguments.has("clocks")) return {};
  const Result<std::vector<double>> clocks = parse_range(arguments.value("clocks"));
  if (!clocks) return fail(clocks, "--clocks");
  std::vector<double> sorted = *clocks;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.empty() || !(sorted.back() > 0))
    return Error::invalid_argument("--clocks " + arguments.value("clocks") + ": not above 0");
  for (const double clock : sorted) {
    Config setting;
    setting.set("clock", fmt::format("{} MHz", clock));
    request.settings.push_back(std::move(setting));
  }
  return {};
}

Result<PipelineJobEnd> run_pipeline_job(PlanService& service, const Arguments& arguments) {
  const RealClock clock;
  PJ_TRY(const Inventory machine, find_machine(clock));
  PJ_TRY(const PrivateFolder folder, PrivateFolder::create("perjoule-pipeline"));
  std::atomic<bool> lost = false;
  PJ_TRY(const auto server,
         PlanServer::start(folder.path() + "/plan", service, [&](int) { lost = true; }));
  tell_of_server(server->path());
  CommandOptions options;
  options.spawn.arguments = arguments.command();
  options.spawn.variables = {{"PERJOULE_PIPELINE", server->path()}};
  options.spawn.output_to_error = arguments.json();
  Progress progress;
  std::optional<Instant> look_until;
  options.progress_every = Seconds(0.1);
  options.progress = [&](const RunProgress&) {
    if (lost.exchange(false)) look_until = clock.now() + kLookForDead;
    if (look_until) tell(replay_dead(journal_folder(), machine));
    if (look_until && clock.now() > *look_until) look_until.reset();
    if (!progress.live()) return;
    const PlanService::Progress at = service.progress();
    progress.show(at.share, fmt::format("iteration {}: {}", at.iteration, name_of(at.phase)));
  };
  Meter meter({}, clock);
  PJ_TRY(const CommandResult result, run_command(meter, options));
  put_back_after(*server, machine, clock);
  service.settle();
  return PipelineJobEnd{result.end, server->lost()};
}

void show_stretches(const PlanService& service) {
  const std::vector<Summary> rows = folded(service.summaries());
  Table table({{"PHASE"},
               {"SETTINGS"},
               {"ITERATIONS", Table::Align::kRight},
               {"TIME", Table::Align::kRight},
               {"ENERGY", Table::Align::kRight},
               {"PLANNED TIME", Table::Align::kRight},
               {"PLANNED ENERGY", Table::Align::kRight},
               {"ABOVE BOUND", Table::Align::kRight}});
  for (const Summary& row : rows) {
    const bool planned = row.planned_time.value() > 0;
    table.add({std::string(name_of(row.phase)), row.name,
               fmt::format("{} to {}", row.first, row.first + row.iterations - 1),
               to_text(row.time), with_uncertainty(row.energy),
               planned ? to_text(row.planned_time) : "", planned ? to_text(row.planned_energy) : "",
               row.phase == RuntimePhase::kPlan ? percent(row.gap, 2) : ""});
  }
  print(table.text());
  show_saving(service);
}

}  // namespace perjoule::cli

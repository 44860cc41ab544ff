// perjoule bench run: the energy of an inference server under a load of ours.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/bench_job.h"
#include "cli/bench_load.h"
#include "cli/bench_remote.h"
#include "cli/bench_view.h"
#include "cli/machine.h"
#include "cli/measure_options.h"
#include "cli/progress.h"
#include "cli/stop_on_signal.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/selection.h"
#include "meter/calibration.h"
#include "serving/bench/bench_run.h"

namespace perjoule::cli {
namespace {

constexpr std::size_t kTimelineBytes = 64U << 20U;

Result<LatencyLimits> read_limits(const Arguments& arguments) {
  LatencyLimits limits;
  PJ_TRY(const auto words, arguments.list("limit"));
  for (const std::string& word : words) {
    const std::size_t sign = word.find('=');
    const auto time = sign == std::string::npos
                          ? Result<Seconds>(Error::invalid_argument("no time"))
                          : parse_seconds(std::string_view(word).substr(sign + 1));
    const std::string name = word.substr(0, sign);
    const std::map<std::string, std::optional<Seconds>*> known{{"ttft", &limits.ttft},
                                                               {"tpot", &limits.tpot},
                                                               {"itl", &limits.itl},
                                                               {"e2el", &limits.e2el}};
    const auto found = known.find(name);
    if (!time || !(time->value() > 0) || found == known.end()) {
      return Error::invalid_argument("--limit " + word + ": no limit",
                                     "ttft=500ms, tpot=50ms, itl=100ms or e2el=10s");
    }
    *found->second = *time;
  }
  return limits;
}

Result<WindowChoice> read_window(const Arguments& arguments) {
  const std::string word = arguments.value("window");
  const std::map<std::string, WindowChoice> known{{"best", WindowChoice::kBest},
                                                  {"stationary", WindowChoice::kStationary},
                                                  {"full-batch", WindowChoice::kFullBatch},
                                                  {"whole", WindowChoice::kWholeRun}};
  const auto found = known.find(word);
  if (found != known.end()) return found->second;
  return Error::invalid_argument("--window " + word + ": best, stationary, full-batch or whole");
}

Result<BenchAsk> read_ask(const Arguments& arguments) {
  BenchAsk ask;
  PJ_TRY(ask.window, read_window(arguments));
  PJ_TRY(const auto batch, read_count(arguments, "max-num-seqs"));
  if (batch) ask.max_num_seqs = static_cast<std::size_t>(*batch);
  if (ask.window == WindowChoice::kFullBatch && !batch) {
    return Error::invalid_argument(
        "--window full-batch: how large the server's batch is, is not said",
        "--max-num-seqs says it");
  }
  PJ_TRY(ask.limits, read_limits(arguments));
  const auto failed = parse_number(arguments.value("most-failed"));
  if (!failed || !(*failed >= 0) || *failed > 1) {
    return Error::invalid_argument("--most-failed " + arguments.value("most-failed") +
                                   ": not a share from 0 to 1");
  }
  ask.most_failed = *failed;
  return ask;
}

/// The page of the server's own counters: as said, else beside its API where there is one.
Result<std::optional<HttpUrl>> metrics_page(const Arguments& arguments, const BenchLoadPlan& plan) {
  if (arguments.has("no-metrics")) return std::optional<HttpUrl>();
  if (arguments.has("metrics")) {
    auto url = HttpUrl::parse(arguments.value("metrics"));
    if (!url) return fail(url, "--metrics");
    return std::optional(std::move(*url));
  }
  HttpUrl url = plan.options.url;
  url.path += "/metrics";
  const RealClock clock;
  const auto reader =
      EngineReader::create(clock, url, plan.options.token_variable, plan.options.http);
  if (reader && (*reader)->read()) return std::optional(std::move(url));
  return std::optional<HttpUrl>();
}

/// All that is known before a request is sent.
struct Job {
  BenchAsk ask;
  BenchSettings settings;
  BenchContext context;
  RequestSet set;
};

Result<Job> read_job(const Arguments& arguments) {
  Job job;
  PJ_TRY(job.ask, read_ask(arguments));
  PJ_TRY(BenchLoadPlan plan, read_bench_load(arguments));
  PJ_TRY(job.context, read_bench_context(arguments));
  job.context.task = arguments.has("task-name") ? arguments.value("task-name") : plan.task;
  job.context.model.id = plan.model;
  job.context.load = plan.stated;
  job.context.notes = std::move(plan.notes);
  if (job.ask.max_num_seqs)
    job.context.max_num_seqs = static_cast<std::int64_t>(*job.ask.max_num_seqs);
  PJ_TRY(job.settings.every, read_period(arguments));
  PJ_TRY(job.settings.metrics, metrics_page(arguments, plan));
  if (!job.settings.metrics && !arguments.has("no-metrics")) {
    job.context.notes.push_back(
        "the server shows no counters of its own at /metrics (--metrics URL)");
  }
  job.settings.load = std::move(plan.options);
  job.set = std::move(plan.set);
  return job;
}

Outcome write_records(const std::string& path, const BenchRun& run) {
  std::string lines;
  for (const RequestRecord& record : run.load.records)
    lines += request_line(record, run.load.begun);
  return write_file_atomically(path, lines);
}

Result<int> measure(const Arguments& arguments) {
  PJ_CHECK(check_bench_outputs(arguments));
  const RealClock clock;
  PJ_TRY(BenchMachine machine, BenchMachine::find(arguments, clock));
  PJ_TRY(const auto remote, RemoteGpus::find(arguments, clock));
  PJ_TRY(Job job, read_job(arguments));
  machine.describe(job.context);
  PJ_TRY(job.ask.prefill_devices, machine.prefill_devices(arguments));
  if (remote) remote->describe(job.context);
  Progress progress;
  if (progress.live()) {
    job.settings.load.progress = [&progress](const LoadProgress& now) {
      progress.show(
          static_cast<double>(now.ended) / static_cast<double>(now.total),
          fmt::format("{} of {} requests, {} open", now.ended, now.total, now.sent - now.ended));
    };
  }
  PJ_TRY(const auto signals, StopOnSignal::start());
  Meter meter(machine.sources(), clock, kTimelineBytes, machine.calibrations());
  PJ_TRY(const BenchRun run, run_bench(meter, job.set, job.settings, signals->token()));
  if (signals->signal() != 0 && run.load.records.empty()) {
    complain("ended by a signal before a request of the load was sent");
    return kSignalled + signals->signal();
  }
  if (remote) {
    remote->wait_for(run);
    job.ask.remote = remote->meter(run);
  }
  Outcome recorded =
      arguments.has("records") ? write_records(arguments.value("records"), run) : Outcome();
  PJ_TRY(const BenchFigures figures, bench_figures(run, job.ask));
  BenchResult result = bench_result(figures, run, job.context);
  if (signals->signal() != 0)
    result.validity.insert(result.validity.begin(), "ended early by a signal");
  PJ_CHECK(deliver_bench(arguments, bench_document(result, figures, run, job.context),
                         bench_text(result, figures, run, job.context)));
  if (!recorded) return fail(recorded);
  if (signals->signal() != 0) return kSignalled + signals->signal();
  return result.validity.empty() ? kDone : kAnswerIsNo;
}

Result<int> run_bench_verb(const Arguments& arguments) {
  return arguments.command().empty() ? measure(arguments) : measure_items(arguments);
}

}  // namespace

Verb bench_run_verb() {
  Verb verb;
  verb.name = "bench run";
  verb.summary = "the energy of an inference server under a load, or of a batch job's items";
  verb.description =
      "Sends requests to an OpenAI-compatible server and measures the GPUs meanwhile: energy per "
      "output token, per token and per response at steady state, with uncertainty, beside the "
      "latencies of docs/bench.md. The GPUs are this machine's (--sources); those of a server "
      "elsewhere "
      "are measured by --prometheus, or not at all (--sources none).\n\n"
      "Loads are open (--rate, --replay, or all at once) or closed (--concurrency). The window of "
      "the figures is the longest stretch in which running requests, token rate and power are "
      "stationary, or ML.ENERGY's between full batches (--max-num-seqs); both are printed. A run "
      "whose client was the bottleneck, or with too many failed requests, is void: its figures are "
      "shown, with the reason, and the exit status is 1.\n\n"
      "With a command behind -- there is no server: the command makes --items images, videos or "
      "whatever, and the energy of one is told. It may report batches as perjoule run's units.";
  verb.options = bench_load_options();
  const std::vector<Option> measuring = bench_measuring_options();
  verb.options.insert(verb.options.end(), measuring.begin(), measuring.end());
  const std::vector<Option> remote = bench_remote_options();
  verb.options.insert(verb.options.end(), remote.begin(), remote.end());
  verb.takes_command = true;
  verb.instead_of_command = {"url"};
  verb.examples = {
      "perjoule bench run --url http://localhost:8000 --input-tokens 500 --output-tokens 200 "
      "--concurrency 32 --requests 512",
      "perjoule bench run --url http://localhost:8000 --task chat --prompts arena.jsonl "
      "--max-num-seqs 64 --output b64.json",
      "perjoule bench run --url http://localhost:8000 --azure conv.csv --replay --speed 2 "
      "--limit ttft=400ms,tpot=100ms",
      "perjoule bench run --items 64 --batch 8 --kind image -- python3 generate.py"};
  verb.run = run_bench_verb;
  return verb;
}

}  // namespace perjoule::cli

// perjoule train batch-size: recurring trainings that share what they learn, from any script.
#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/train_batch_size_view.h"
#include "cli/train_jobs.h"
#include "cli/train_options.h"
#include "cli/verbs.h"

namespace perjoule::cli {
namespace {

std::string job_of(const Arguments& arguments) { return arguments.values("JOB").front(); }

Result<std::int64_t> trial_of(const Arguments& arguments) {
  const std::string word = arguments.values("TRIAL").front();
  const auto number = parse_integer(word);
  if (number && *number > 0) return *number;
  return Error::invalid_argument("not the number of a trial: " + word,
                                 "perjoule train batch-size ask answers it");
}

template <typename T>
Result<T> required(const Arguments& arguments, std::string_view option,
                   Result<T> (*parse)(std::string_view)) {
  PJ_TRY(const auto value, arguments.read<T>(option, parse));
  if (value) return *value;
  return Error::invalid_argument(fmt::format("--{} is missing", option));
}

Result<double> parse_figure(std::string_view text) {
  if (const auto number = parse_number(text)) return *number;
  return Error::invalid_argument(fmt::format("not a number: {}", text));
}

/// A metric that diverged is a figure too: nan, inf and -inf, in capitals as well.
Result<double> parse_metric(std::string_view text) {
  std::string word(text);
  for (char& letter : word) letter = static_cast<char>(std::tolower(letter));
  for (const std::string_view diverged :
       {"nan", "-nan", "inf", "+inf", "-inf", "infinity", "-infinity"}) {
    if (word == diverged) return NAN;
  }
  return parse_figure(text);
}

Result<JobDefinition> read_definition(const Arguments& arguments) {
  JobDefinition job;
  job.name = job_of(arguments);
  PJ_TRY(const std::vector<std::string> sizes, arguments.list("batch-sizes"));
  for (const std::string& word : sizes) {
    const auto size = parse_integer(word);
    if (!size || *size < 1 || *size > 1'000'000'000)
      return Error::invalid_argument("--batch-sizes: not a batch size: " + word);
    job.spec.batch_sizes.push_back(static_cast<int>(*size));
  }
  std::sort(job.spec.batch_sizes.begin(), job.spec.batch_sizes.end());
  PJ_TRY(job.spec.default_batch, read_count(arguments, "default"));
  PJ_TRY(job.spec.window, read_count(arguments, "window"));
  PJ_TRY(job.spec.beta, read_beta(arguments));
  PJ_TRY(job.spec.prior, read_cost_prior(arguments));
  PJ_TRY(job.eta, required<double>(arguments, "eta", parse_figure));
  PJ_TRY(job.max_power, required<Watts>(arguments, "max-power", parse_watts));
  PJ_TRY(job.target, required<double>(arguments, "target", parse_figure));
  job.higher_is_better = !arguments.has("lower-is-better");
  PJ_TRY(job.most_epochs, read_count(arguments, "most-epochs"));
  job.policy = arguments.value("policy");
  PJ_TRY(const int seed, read_count(arguments, "seed"));
  job.seed = static_cast<std::uint64_t>(seed);
  PJ_TRY(job.timeout, required<Seconds>(arguments, "timeout", parse_seconds));
  return job;
}

void answer(const Arguments& arguments, const std::string& text, const Json& json) {
  print(arguments.json() ? json.dump(2) + "\n" : text + "\n");
}

Result<int> create(const Arguments& arguments) {
  PJ_TRY(const JobDefinition job, read_definition(arguments));
  PJ_TRY(const auto jobs, jobs_of(arguments));
  PJ_TRY(const Json json, jobs->create(job));
  answer(arguments, "job " + job.name + " is there", json);
  return kDone;
}

Result<int> ask(const Arguments& arguments) {
  PJ_TRY(const auto jobs, jobs_of(arguments));
  PJ_TRY(const Json json, jobs->ask(job_of(arguments)));
  // Two words, so that a shell can read them: read trial batch < <(perjoule train batch-size ask
  // JOB)
  answer(arguments,
         fmt::format("{} {}", json.integer("trial").value_or(0),
                     json.integer("batch_size").value_or(0)),
         json);
  return kDone;
}

Result<int> report(const Arguments& arguments) {
  TrialReport told;
  PJ_TRY(told.trial, trial_of(arguments));
  PJ_TRY(told.progress.epochs, read_count(arguments, "epochs"));
  PJ_TRY(told.progress.energy, required<Joules>(arguments, "energy", parse_joules));
  PJ_TRY(told.progress.time, required<Seconds>(arguments, "time", parse_seconds));
  PJ_TRY(told.progress.metric, required<double>(arguments, "metric", parse_metric));
  PJ_TRY(const auto jobs, jobs_of(arguments));
  PJ_TRY(const Json json, jobs->report(job_of(arguments), told));
  const std::string verdict = json.string("verdict").value_or("");
  answer(arguments, verdict, json);
  return verdict == name_of(Verdict::kStop) ? kAnswerIsNo : kDone;
}

Result<int> abandon(const Arguments& arguments) {
  PJ_TRY(const std::int64_t trial, trial_of(arguments));
  PJ_TRY(const auto jobs, jobs_of(arguments));
  PJ_TRY(const Json json, jobs->abandon(job_of(arguments), trial));
  answer(arguments, fmt::format("trial {} is given up", trial), json);
  return kDone;
}

Result<int> remove(const Arguments& arguments) {
  PJ_TRY(const auto jobs, jobs_of(arguments));
  PJ_TRY(const Json json, jobs->remove(job_of(arguments)));
  answer(arguments, "job " + job_of(arguments) + " is gone", json);
  return kDone;
}

Result<int> list(const Arguments& arguments) {
  PJ_TRY(const auto jobs, jobs_of(arguments));
  PJ_TRY(const Json json, jobs->list());
  std::string text;
  const Json* const names = json.find("jobs");
  if (names != nullptr && names->is_array()) {
    for (const Json& name : *names->as_array())
      text += (name.is_string() ? *name.as_string() : "") + "\n";
  }
  print(arguments.json() ? json.dump(2) + "\n" : text);
  return kDone;
}

Result<int> show(const Arguments& arguments) {
  PJ_TRY(const auto jobs, jobs_of(arguments));
  PJ_TRY(const Json status, jobs->show(job_of(arguments)));
  print(arguments.json() ? status.dump(2) + "\n" : text_of_job_status(status));
  return kDone;
}

const Positional kJob = {"JOB", "its name"};
const Positional kTrial = {"TRIAL", "the number that ask answered"};

Verb create_verb() {
  Verb verb;
  verb.name = "train batch-size create";
  verb.summary = "make a recurring job known";
  verb.description =
      "A job is trained again and again until a metric reaches its target. Before each training "
      "ask for its batch\n"
      "size, after each epoch report; docs/train.md says how sizes are chosen. Jobs lie in the "
      "store; trainings of\none job may run at the same time.";
  verb.options = {
      {"batch-sizes", "N,...", "to choose from", "", true},
      {"default", "N", "the one used so far; one of them"},
      {"target", "NUMBER", "of the metric"},
      {"lower-is-better", "", "the target is reached from above, as a loss is"},
      {"max-power", "POWER",
       "largest power limit over all GPUs of the job: turns time into energy"},
      {"eta", "NUMBER", "0: fastest, 1: least energy", "0.5"},
      {"beta", "NUMBER", "stop a training at this many times the lowest cost; none: never", "2"},
      {"most-epochs", "COUNT", "a training is given up after so many", "100"},
      {"window", "COUNT", "remember so many results of a batch size, failures too; 0: all", "0"},
      {"policy", "NAME", "perjoule or zeus", "perjoule"},
      {"noise", "ENERGY",
       "policy zeus: known standard deviation of a training's cost; otherwise learned"},
      {"prior-cost", "ENERGY", "policy zeus: expected cost of a training, with --prior-deviation"},
      {"prior-deviation", "ENERGY",
       "policy zeus: ... give or take so much; otherwise nothing is assumed"},
      {"seed", "NUMBER", "of its chances", "1"},
      {"timeout", "TIME", "a trainer silent for so long is given up; it may come back", "24h"},
  };
  verb.positionals = {kJob};
  verb.examples = {
      "perjoule train batch-size create nightly --batch-sizes 32,64,128,256 --default 64 --target "
      "0.84 --max-power 700W"};
  verb.run = create;
  return verb;
}

Verb report_verb() {
  Verb verb;
  verb.name = "train batch-size report";
  verb.summary = "tell a training's totals after an epoch, and hear whether to go on";
  verb.description =
      "Prints continue, reached or stop; the exit status is 1 for stop: the training is too dear, "
      "ask for another.\nFigures are running totals since the training began, validation included. "
      "A metric of nan "
      "or inf tells that the\ntraining diverged. The last report of a training may be repeated: it "
      "has the same answer.";
  verb.options = {{"epochs", "COUNT", "done so far"},
                  {"energy", "ENERGY", "used so far"},
                  {"time", "TIME", "taken so far"},
                  {"metric", "NUMBER", "of the last validation; nan or inf: it diverged"}};
  verb.positionals = {kJob, kTrial};
  verb.examples = {
      "perjoule train batch-size report nightly 7 --epochs 3 --energy 4.2MJ --time 95min --metric "
      "0.81"};
  verb.run = report;
  return verb;
}

Verb plain_verb(const std::string& name, std::string summary, std::vector<Positional> positionals,
                const std::string& example, std::function<Result<int>(const Arguments&)> run) {
  Verb verb;
  verb.name = "train batch-size " + name;
  verb.summary = std::move(summary);
  verb.positionals = std::move(positionals);
  verb.examples = {"perjoule train batch-size " + example};
  verb.run = std::move(run);
  return verb;
}

}  // namespace

std::vector<Verb> train_batch_size_verbs() {
  std::vector<Verb> verbs = {
      create_verb(),
      plain_verb("ask", "the batch size to train with next: prints TRIAL and BATCH", {kJob},
                 "ask nightly", ask),
      report_verb(),
      plain_verb("abandon", "a training failed for reasons of its own", {kJob, kTrial},
                 "abandon nightly 7", abandon),
      plain_verb("show", "a job's trainings so far", {kJob}, "show nightly --json", show),
      plain_verb("list", "the jobs there are", {}, "list", list),
      plain_verb("remove", "forget a job", {kJob}, "remove nightly", remove)};
  for (Verb& verb : verbs) add_daemon_option(verb.options);
  return verbs;
}

}  // namespace perjoule::cli

#include "train/job_state.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "train/perjoule_policy.h"
#include "train/zeus_policy.h"

namespace perjoule {
namespace {

constexpr std::array<std::string_view, 5> kStates = {"running", "reached", "stopped", "abandoned",
                                                     "lost"};

Result<double> number_of(const Json& entry, std::string_view name) {
  if (const auto number = entry.number(name)) return *number;
  return Error::data_loss(fmt::format("no number '{}'", name));
}

}  // namespace

std::string_view name_of(TrialState state) { return kStates[static_cast<std::size_t>(state)]; }

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"continue", "reached", "stop"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Json entry_of(const JobDefinition& definition) {
  Json json = Json::object();
  json["event"] = "created";
  json["name"] = definition.name;
  Json sizes = Json::array();
  for (const int size : definition.spec.batch_sizes) sizes.push_back(size);
  json["batch_sizes"] = std::move(sizes);
  json["default_batch"] = definition.spec.default_batch;
  // JSON has no infinity: no bound is null.
  json["beta"] = std::isfinite(definition.spec.beta) ? Json(definition.spec.beta) : Json();
  json["window"] = definition.spec.window;
  json["eta"] = definition.eta;
  json["max_power_w"] = definition.max_power.value();
  json["target"] = definition.target;
  json["higher_is_better"] = definition.higher_is_better;
  json["most_epochs"] = definition.most_epochs;
  json["policy"] = definition.policy;
  json["seed"] = static_cast<std::int64_t>(definition.seed);
  json["timeout_s"] = definition.timeout.value();
  return json;
}

Json entry_of(const Trial& trial, std::int64_t unix_ns) {
  Json json = Json::object();
  json["event"] = "asked";
  json["trial"] = trial.number;
  json["batch_size"] = trial.batch_size;
  json["unix_ns"] = unix_ns;
  return json;
}

Json entry_of(std::int64_t trial, const TrialProgress& progress, std::int64_t unix_ns) {
  Json json = Json::object();
  json["event"] = "epoch";
  json["trial"] = trial;
  json["epochs"] = progress.epochs;
  json["energy_j"] = progress.energy.value();
  json["time_s"] = progress.time.value();
  json["metric"] = progress.metric;
  json["unix_ns"] = unix_ns;
  return json;
}

Json ending_of(std::int64_t trial, TrialState state, std::int64_t unix_ns) {
  Json json = Json::object();
  json["event"] = "ended";
  json["trial"] = trial;
  json["state"] = name_of(state);
  json["unix_ns"] = unix_ns;
  return json;
}

Result<JobState> JobState::replay(const std::string& job, const EventLog::Entries& entries) {
  if (entries.empty()) {
    return Error::not_found("no job '" + job + "'",
                            "perjoule train batch-size list shows those there are");
  }
  JobState state;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Outcome applied = state.apply(entries[i]);
    if (!applied) return fail(applied, fmt::format("job {}, entry {}", job, i));
  }
  return state;
}

Outcome JobState::apply(const Json& entry) {
  const std::string event = entry.string("event").value_or("");
  if (event == "created" && policy_ == nullptr) return created(entry);
  if (policy_ == nullptr) return Error::data_loss("the log does not begin with a definition");
  if (event == "asked") return asked(entry);
  if (event == "epoch") return epoch(entry);
  if (event == "ended") return ended(entry);
  return Error::data_loss("not an event: '" + event + "'");
}

Outcome JobState::created(const Json& entry) {
  JobDefinition& definition = status_.definition;
  definition.name = entry.string("name").value_or("");
  const Json* sizes = entry.find("batch_sizes");
  if (sizes == nullptr || sizes->as_array() == nullptr)
    return Error::data_loss("no batch sizes in the definition");
  for (const Json& size : *sizes->as_array())
    definition.spec.batch_sizes.push_back(static_cast<int>(size.as_integer().value_or(0)));
  PJ_TRY(const double usual, number_of(entry, "default_batch"));
  definition.spec.default_batch = static_cast<int>(usual);
  definition.spec.beta = entry.number("beta").value_or(INFINITY);
  PJ_TRY(const double window, number_of(entry, "window"));
  definition.spec.window = static_cast<int>(window);
  PJ_TRY(definition.eta, number_of(entry, "eta"));
  PJ_TRY(const double max_power, number_of(entry, "max_power_w"));
  definition.max_power = Watts(max_power);
  PJ_TRY(definition.target, number_of(entry, "target"));
  const Json* higher = entry.find("higher_is_better");
  definition.higher_is_better = higher == nullptr || higher->as_bool().value_or(true);
  PJ_TRY(const double most, number_of(entry, "most_epochs"));
  definition.most_epochs = static_cast<int>(most);
  definition.policy = entry.string("policy").value_or("");
  definition.seed = static_cast<std::uint64_t>(entry.integer("seed").value_or(1));
  PJ_TRY(const double timeout, number_of(entry, "timeout_s"));
  definition.timeout = Seconds(timeout);
  PJ_CHECK(JobCost::make(definition.eta, definition.max_power));
  if (definition.policy == "zeus") {
    PJ_TRY(policy_, ZeusPolicy::make(definition.spec));
  } else if (definition.policy == "perjoule") {
    PJ_TRY(policy_, PerjoulePolicy::make(definition.spec));
  } else {
    return Error::invalid_argument("no policy '" + definition.policy + "'", "zeus or perjoule");
  }
  return {};
}

TrialRecord* JobState::find(std::int64_t trial) {
  if (trial < 1 || trial > static_cast<std::int64_t>(status_.trials.size())) return nullptr;
  return &status_.trials[static_cast<std::size_t>(trial - 1)];
}

Outcome JobState::asked(const Json& entry) {
  TrialRecord record;
  record.trial.number = static_cast<std::int64_t>(status_.trials.size()) + 1;
  PJ_TRY(const double size, number_of(entry, "batch_size"));
  record.trial.batch_size = static_cast<int>(size);
  record.asked_unix_ns = record.heard_unix_ns = entry.integer("unix_ns").value_or(0);
  status_.trials.push_back(record);
  return {};
}

Outcome JobState::epoch(const Json& entry) {
  TrialRecord* const record = find(entry.integer("trial").value_or(0));
  if (record == nullptr) return Error::data_loss("an epoch of a trial that was never asked for");
  PJ_TRY(const double epochs, number_of(entry, "epochs"));
  PJ_TRY(const double energy, number_of(entry, "energy_j"));
  PJ_TRY(const double time, number_of(entry, "time_s"));
  PJ_TRY(const double metric, number_of(entry, "metric"));
  status_.energy += Joules(energy) - record->progress.energy;
  status_.time += Seconds(time) - record->progress.time;
  record->progress = {static_cast<int>(epochs), Joules(energy), Seconds(time), metric};
  record->cost = cost_of(record->progress);
  record->heard_unix_ns = entry.integer("unix_ns").value_or(0);
  return {};
}

Outcome JobState::ended(const Json& entry) {
  TrialRecord* const record = find(entry.integer("trial").value_or(0));
  if (record == nullptr) return Error::data_loss("the end of a trial that was never asked for");
  const std::string word = entry.string("state").value_or("");
  const auto at = std::find(kStates.begin(), kStates.end(), word);
  if (at == kStates.end()) return Error::data_loss("not a state: '" + word + "'");
  record->state = static_cast<TrialState>(at - kStates.begin());
  recurrence_cost_ += record->cost;
  const bool reached = record->state == TrialState::kReached;
  if (reached || record->state == TrialState::kStopped) {
    const int epochs = std::max(1, record->progress.epochs);
    policy_->report(
        {record->trial.batch_size, reached, epochs, record->cost / epochs, record->cost},
        recurrence_cost_);
  }
  if (reached) {
    ++status_.recurrences;
    if (!status_.lowest_cost || recurrence_cost_ < *status_.lowest_cost)
      status_.lowest_cost = recurrence_cost_;
    recurrence_cost_ = Joules(0);
  }
  return {};
}

Joules JobState::cost_of(const TrialProgress& progress) const {
  const double eta = status_.definition.eta;
  return progress.energy * eta + status_.definition.max_power * progress.time * (1 - eta);
}

EventLog::Entries JobState::lost(std::int64_t now_unix_ns) const {
  EventLog::Entries entries;
  for (const TrialRecord& record : status_.trials) {
    const double silent = static_cast<double>(now_unix_ns - record.heard_unix_ns) * 1e-9;
    if (record.state == TrialState::kRunning && silent > status_.definition.timeout.value())
      entries.push_back(ending_of(record.trial.number, TrialState::kLost, now_unix_ns));
  }
  return entries;
}

Trial JobState::next() const {
  std::vector<int> running;
  for (const TrialRecord& record : status_.trials) {
    if (record.state == TrialState::kRunning) running.push_back(record.trial.batch_size);
  }
  Trial trial;
  trial.number = static_cast<std::int64_t>(status_.trials.size()) + 1;
  Random random = Random(status_.definition.seed).child(static_cast<std::uint64_t>(trial.number));
  trial.batch_size = policy_->next(random, running);
  return trial;
}

Verdict JobState::judge(const TrialRecord& record, const TrialProgress& progress) const {
  const JobDefinition& definition = status_.definition;
  const bool reached = definition.higher_is_better ? progress.metric >= definition.target
                                                   : progress.metric <= definition.target;
  if (reached) return Verdict::kReached;
  if (progress.epochs >= definition.most_epochs) return Verdict::kStop;
  const Joules epoch_cost = cost_of(progress) / progress.epochs;
  const int allowed = policy_->most_epochs(record.trial.batch_size, epoch_cost);
  return progress.epochs >= allowed ? Verdict::kStop : Verdict::kContinue;
}

}  // namespace perjoule

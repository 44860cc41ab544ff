#include "train/job_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "train/job_entries.h"
#include "train/perjoule_policy.h"
#include "train/zeus_policy.h"

namespace perjoule {
namespace {

// Slowest epochs that a trainer may be silent for before the others no longer wait for what it
// finds out. It is not given up by that: only the timeout does.
constexpr double kOverdue = 10;

// Within one run of the system its own clock tells; across a restart, or between machines, only the
// wall clock does.
Seconds silence(const Stamp& heard, const Stamp& now) {
  const bool same_boot = !now.boot.empty() && heard.boot == now.boot;
  const std::int64_t ns = same_boot ? now.boot_ns - heard.boot_ns : now.unix_ns - heard.unix_ns;
  return Seconds(static_cast<double>(ns) * 1e-9);
}

}  // namespace

Result<std::unique_ptr<BatchSizePolicy>> policy_of(const JobDefinition& definition) {
  if (definition.policy == "zeus") return ZeusPolicy::make(definition.spec);
  if (definition.policy == "perjoule") return PerjoulePolicy::make(definition.spec);
  return Error::invalid_argument("no policy '" + definition.policy + "'", "zeus or perjoule");
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
  PJ_TRY(status_.definition, definition_of(entry));
  PJ_CHECK(JobCost::make(status_.definition.eta, status_.definition.max_power));
  PJ_TRY(policy_, policy_of(status_.definition));
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
  record.asked = record.heard = stamp_of(entry);
  status_.trials.push_back(record);
  return {};
}

Outcome JobState::epoch(const Json& entry) {
  TrialRecord* const record = find(entry.integer("trial").value_or(0));
  if (record == nullptr) return Error::data_loss("an epoch of a trial that was never asked for");
  PJ_TRY(const TrialProgress progress, progress_of(entry));
  status_.energy += progress.energy - record->progress.energy;
  status_.time += progress.time - record->progress.time;
  record->progress = progress;
  record->cost = cost_of(progress);
  record->heard = stamp_of(entry);
  if (progress.epochs > 0)
    slowest_epoch_ = std::max(slowest_epoch_, progress.time / progress.epochs);
  if (record->state == TrialState::kLost) {
    record->state = TrialState::kRunning;
    int& silent = silent_[record->trial.batch_size];
    silent = std::max(0, silent - 1);
    take_back(record->trial.number);
  }
  return {};
}

// One that runs again is not censored, and what it took is none that ended. In a recurrence that is
// over it stays: what that took was told.
void JobState::take_back(std::int64_t trial) {
  const auto charged = charged_.find(trial);
  if (charged == charged_.end() || charged->second.recurrence != status_.recurrences.size()) return;
  const TrialProgress& progress = charged->second.progress;
  RecurrenceRecord& recurrence = status_.unfinished;
  --recurrence.trainings;
  recurrence.energy -= progress.energy;
  recurrence.time -= progress.time;
  recurrence.cost -= cost_of(progress);
  if (recurrence.trainings == 0) recurrence = {};  // and no rest of rounding
  charged_.erase(charged);
}

Outcome JobState::ended(const Json& entry) {
  TrialRecord* const record = find(entry.integer("trial").value_or(0));
  if (record == nullptr) return Error::data_loss("the end of a trial that was never asked for");
  PJ_TRY(record->state, state_of(entry));
  if (record->state == TrialState::kLost) record->silence = silence(record->heard, stamp_of(entry));
  RecurrenceRecord& recurrence = status_.unfinished;
  const auto [charged, first] = charged_.try_emplace(record->trial.number);
  if (first) ++recurrence.trainings;
  const TrialProgress& before = charged->second.progress;
  recurrence.energy += record->progress.energy - before.energy;
  recurrence.time += record->progress.time - before.time;
  recurrence.cost += record->cost - cost_of(before);
  charged->second = {record->progress, status_.recurrences.size()};
  tell_policy(*record);
  if (record->state == TrialState::kReached) {
    if (!status_.lowest_cost || recurrence.cost < *status_.lowest_cost)
      status_.lowest_cost = recurrence.cost;
    status_.recurrences.push_back(recurrence);
    recurrence = {};
  }
  return {};
}

void JobState::tell_policy(const TrialRecord& record) {
  const int batch_size = record.trial.batch_size;
  switch (record.state) {
    case TrialState::kRunning:
      break;
    case TrialState::kReached:
    case TrialState::kStopped: {
      silent_[batch_size] = 0;
      const int epochs = std::max(1, record.progress.epochs);
      policy_->report({batch_size, record.state == TrialState::kReached, epochs,
                       record.cost / epochs, record.cost},
                      status_.unfinished.cost);
      break;
    }
    case TrialState::kDiverged:
      silent_[batch_size] = 0;
      policy_->report_failure(batch_size);
      break;
    case TrialState::kAbandoned:
    case TrialState::kLost:
      if (++silent_[batch_size] >= kSilentEnds) policy_->report_failure(batch_size);
      break;
  }
}

Joules JobState::cost_of(const TrialProgress& progress) const {
  const double eta = status_.definition.eta;
  return progress.energy * eta + status_.definition.max_power * progress.time * (1 - eta);
}

JobStatus JobState::status() const {
  JobStatus status = status_;
  status.unreported = unreported();
  return status;
}

std::optional<Joules> JobState::unreported() const {
  Joules usual;
  int reached = 0;
  for (const TrialRecord& record : status_.trials) {
    if (record.state != TrialState::kReached) continue;
    usual += record.progress.energy;
    ++reached;
  }
  if (reached == 0) return std::nullopt;
  usual = usual / reached;
  Joules sum;
  for (const TrialRecord& record : status_.trials) {
    if (record.state != TrialState::kLost || record.progress.energy > usual) continue;
    sum += std::min(usual - record.progress.energy, status_.definition.max_power * record.silence);
  }
  return sum;
}

EventLog::Entries JobState::lost(const Stamp& now) const {
  EventLog::Entries entries;
  for (const TrialRecord& record : status_.trials) {
    if (record.state == TrialState::kRunning &&
        silence(record.heard, now) > status_.definition.timeout)
      entries.push_back(ending_of(record.trial.number, TrialState::kLost, now));
  }
  return entries;
}

Trial JobState::next(const Stamp& now) const {
  std::vector<int> running;
  for (const TrialRecord& record : status_.trials) {
    if (record.state != TrialState::kRunning) continue;
    const bool overdue =
        slowest_epoch_.value() > 0 && silence(record.heard, now) > slowest_epoch_ * kOverdue;
    if (!overdue) running.push_back(record.trial.batch_size);
  }
  Trial trial;
  trial.number = static_cast<std::int64_t>(status_.trials.size()) + 1;
  Random random = Random(status_.definition.seed).child(static_cast<std::uint64_t>(trial.number));
  trial.batch_size = policy_->next(random, running);
  return trial;
}

Judgement JobState::judge(const TrialRecord& record, const TrialProgress& progress) const {
  const JobDefinition& definition = status_.definition;
  if (!std::isfinite(progress.metric)) return {Verdict::kStop, TrialState::kDiverged};
  const bool reached = definition.higher_is_better ? progress.metric >= definition.target
                                                   : progress.metric <= definition.target;
  if (reached) return {Verdict::kReached, TrialState::kReached};
  const Joules epoch_cost = cost_of(progress) / progress.epochs;
  const int allowed =
      std::min(definition.most_epochs, policy_->most_epochs(record.trial.batch_size, epoch_cost));
  if (progress.epochs >= allowed) return {Verdict::kStop, TrialState::kStopped};
  return {};
}

}  // namespace perjoule

#include "train/job_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "train/job_state.h"

namespace perjoule {
namespace {

constexpr std::string_view kPrefix = "train/job/";

std::string log_of(const std::string& job) { return std::string(kPrefix) + job; }

Outcome check_definition(const JobDefinition& definition) {
  const std::string& name = definition.name;
  const bool plain = std::all_of(name.begin(), name.end(), [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' ||
           letter == '_' || letter == '.';
  });
  if (name.empty() || !plain) {
    return Error::invalid_argument("not a name for a job: '" + name + "'",
                                   "use letters, digits, '-', '_' and '.'");
  }
  PJ_CHECK(check(definition.spec));
  if (definition.most_epochs < 1) return Error::invalid_argument("most epochs are below 1");
  if (!std::isfinite(definition.target)) return Error::invalid_argument("the target is no number");
  if (!(definition.timeout.value() > 0))
    return Error::invalid_argument("the time-out is not above 0");
  return {};
}

Outcome check_progress(const TrialRecord& record, const TrialProgress& progress) {
  const TrialProgress& before = record.progress;
  const bool numbers = std::isfinite(progress.energy.value()) &&
                       std::isfinite(progress.time.value()) && std::isfinite(progress.metric);
  if (!numbers || progress.epochs < 1)
    return Error::invalid_argument("a report wants epochs of 1 or more and finite figures");
  if (progress.epochs < before.epochs || progress.energy < before.energy ||
      progress.time < before.time) {
    return Error::invalid_argument(fmt::format("trial {}: totals go back (epoch {} after {})",
                                               record.trial.number, progress.epochs, before.epochs),
                                   "report running totals since the training began");
  }
  return {};
}

/// Replays, gives up what is lost, and lets `call` add to it; its entries follow those.
template <typename Call>
Outcome change(EventLog& log, const Clock& clock, const std::string& job, const Call& call) {
  return log.update(log_of(job), [&](const EventLog::Entries& so_far) -> Result<EventLog::Entries> {
    PJ_TRY(JobState state, JobState::replay(job, so_far));
    EventLog::Entries entries = state.lost(clock.unix_ns());
    for (const Json& entry : entries) PJ_CHECK(state.apply(entry));
    PJ_TRY(const EventLog::Entries more, call(state));
    entries.insert(entries.end(), more.begin(), more.end());
    return entries;
  });
}

/// The trial, when it is running.
Result<TrialRecord> running_trial(JobState& state, std::int64_t trial) {
  const TrialRecord* const record = state.find(trial);
  if (record == nullptr) {
    return Error::not_found(fmt::format("job {} has no trial {}", state.definition().name, trial));
  }
  if (record->state != TrialState::kRunning) {
    return Error::conflict(fmt::format("trial {} of job {} has ended: {}", trial,
                                       state.definition().name, name_of(record->state)),
                           "ask for a new one");
  }
  return *record;
}

}  // namespace

Outcome JobService::create(const JobDefinition& definition) {
  PJ_CHECK(check_definition(definition));
  const Json wanted = entry_of(definition);
  PJ_CHECK(JobState::replay(definition.name, {wanted}));
  return log_.update(
      log_of(definition.name), [&](const EventLog::Entries& so_far) -> Result<EventLog::Entries> {
        if (so_far.empty()) return EventLog::Entries{wanted};
        if (so_far.front() == wanted) return EventLog::Entries{};
        return Error::conflict("job " + definition.name + " exists with another definition",
                               "choose another name, or remove it first");
      });
}

Result<Trial> JobService::ask(const std::string& job) {
  Trial trial;
  PJ_CHECK(change(log_, clock_, job, [&](JobState& state) -> Result<EventLog::Entries> {
    trial = state.next();
    return EventLog::Entries{entry_of(trial, clock_.unix_ns())};
  }));
  return trial;
}

Result<Verdict> JobService::report(const std::string& job, std::int64_t trial,
                                   const TrialProgress& progress) {
  Verdict verdict = Verdict::kContinue;
  PJ_CHECK(change(log_, clock_, job, [&](JobState& state) -> Result<EventLog::Entries> {
    PJ_TRY(const TrialRecord record, running_trial(state, trial));
    PJ_CHECK(check_progress(record, progress));
    verdict = state.judge(record, progress);
    const std::int64_t now = clock_.unix_ns();
    EventLog::Entries entries{entry_of(trial, progress, now)};
    if (verdict != Verdict::kContinue) {
      const bool reached = verdict == Verdict::kReached;
      entries.push_back(
          ending_of(trial, reached ? TrialState::kReached : TrialState::kStopped, now));
    }
    return entries;
  }));
  return verdict;
}

Outcome JobService::abandon(const std::string& job, std::int64_t trial) {
  return change(log_, clock_, job, [&](JobState& state) -> Result<EventLog::Entries> {
    PJ_CHECK(running_trial(state, trial));
    return EventLog::Entries{ending_of(trial, TrialState::kAbandoned, clock_.unix_ns())};
  });
}

Result<JobStatus> JobService::status(const std::string& job) const {
  PJ_TRY(const EventLog::Entries entries, log_.read(log_of(job)));
  PJ_TRY(const JobState state, JobState::replay(job, entries));
  return state.status();
}

Result<std::vector<std::string>> JobService::list() const {
  PJ_TRY(std::vector<std::string> names, log_.names(kPrefix));
  for (std::string& name : names) name.erase(0, kPrefix.size());
  return names;
}

Outcome JobService::remove(const std::string& job) {
  PJ_CHECK(status(job));
  return log_.erase(log_of(job));
}

}  // namespace perjoule

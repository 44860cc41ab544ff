#include "train/job_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "train/job_entries.h"
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
  PJ_CHECK(JobCost::make(definition.eta, definition.max_power));
  PJ_CHECK(policy_of(definition));
  if (definition.most_epochs < 1) return Error::invalid_argument("most epochs are below 1");
  if (!std::isfinite(definition.target)) return Error::invalid_argument("the target is no number");
  if (!(definition.timeout.value() > 0))
    return Error::invalid_argument("the time-out is not above 0");
  return {};
}

Outcome check_progress(const JobDefinition& definition, const TrialRecord& record,
                       const TrialProgress& progress) {
  const auto wrong = [&](const std::string& what, const std::string& remedy) {
    return Error::invalid_argument(fmt::format("trial {}: {}", record.trial.number, what), remedy);
  };
  const double joules = progress.energy.value();
  const double seconds = progress.time.value();
  if (progress.epochs < 1) return wrong("a report before the first epoch", "report after each");
  // Somebody without a meter asks for the fastest training (eta 0) and has no energy to report.
  if (!std::isfinite(joules) || joules < 0 || (joules == 0 && definition.eta > 0))
    return wrong(fmt::format("its energy is not above 0: {} J", joules),
                 "report what it has used since it began");
  if (!std::isfinite(seconds) || seconds <= 0)
    return wrong(fmt::format("its time is not above 0: {} s", seconds),
                 "report how long it has taken since it began");
  if (progress.energy > kMostTrialEnergy)
    return wrong(fmt::format("its energy of {:g} J is above the most that is taken, {:g} J", joules,
                             kMostTrialEnergy.value()),
                 "mind the unit: a bare number is joules");
  if (progress.time > kMostTrialTime)
    return wrong(fmt::format("its time of {:g} s is above the most that is taken, {:g} s", seconds,
                             kMostTrialTime.value()),
                 "mind the unit: a bare number is seconds");
  const TrialProgress& before = record.progress;
  if (progress.epochs < before.epochs || progress.energy < before.energy ||
      progress.time < before.time) {
    return wrong(fmt::format("totals go back: {} J and {} s in {} epochs after {} J and {} s in {}",
                             joules, seconds, progress.epochs, before.energy.value(),
                             before.time.value(), before.epochs),
                 "report running totals since the training began");
  }
  return {};
}

bool same(const TrialProgress& a, const TrialProgress& b) {
  const bool metric =
      a.metric == b.metric || (!std::isfinite(a.metric) && !std::isfinite(b.metric));
  return a.epochs == b.epochs && a.energy == b.energy && a.time == b.time && metric;
}

/// Replays, gives up what is lost, and lets `call` add to it; its entries follow those.
template <typename Call>
Outcome change(EventLog& log, const Stamp& now, const std::string& job, const Call& call) {
  return log.update(log_of(job), [&](const EventLog::Entries& so_far) -> Result<EventLog::Entries> {
    PJ_TRY(JobState state, JobState::replay(job, so_far));
    EventLog::Entries entries = state.lost(now);
    for (const Json& entry : entries) PJ_CHECK(state.apply(entry));
    PJ_TRY(const EventLog::Entries more, call(state));
    entries.insert(entries.end(), more.begin(), more.end());
    return entries;
  });
}

Result<TrialRecord> known_trial(JobState& state, std::int64_t trial) {
  if (const TrialRecord* const record = state.find(trial)) return *record;
  return Error::not_found(fmt::format("job {} has no trial {}", state.definition().name, trial));
}

auto ended(const JobState& state, const TrialRecord& record) {
  return Error::conflict(fmt::format("trial {} of job {} has ended: {}", record.trial.number,
                                     state.definition().name, name_of(record.state)),
                         "ask for a new one");
}

}  // namespace

Outcome JobService::create(const JobDefinition& definition) {
  PJ_CHECK(check_definition(definition));
  const Json wanted = entry_of(definition);
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
  const Stamp at = now();
  PJ_CHECK(change(log_, at, job, [&](JobState& state) -> Result<EventLog::Entries> {
    trial = state.next(at);
    return EventLog::Entries{entry_of(trial, at)};
  }));
  return trial;
}

Result<Verdict> JobService::report(const std::string& job, std::int64_t trial,
                                   const TrialProgress& progress) {
  Verdict verdict = Verdict::kContinue;
  const Stamp at = now();
  PJ_CHECK(change(log_, at, job, [&](JobState& state) -> Result<EventLog::Entries> {
    PJ_TRY(const TrialRecord record, known_trial(state, trial));
    if (record.state != TrialState::kRunning && record.state != TrialState::kLost) {
      // Who did not hear the answer, asks again.
      if (record.state == TrialState::kAbandoned || !same(record.progress, progress))
        return ended(state, record);
      verdict = record.state == TrialState::kReached ? Verdict::kReached : Verdict::kStop;
      return EventLog::Entries{};
    }
    PJ_CHECK(check_progress(state.definition(), record, progress));
    const Judgement judged = state.judge(record, progress);
    verdict = judged.verdict;
    EventLog::Entries entries{entry_of(trial, progress, at)};
    if (verdict != Verdict::kContinue) entries.push_back(ending_of(trial, judged.state, at));
    return entries;
  }));
  return verdict;
}

Outcome JobService::abandon(const std::string& job, std::int64_t trial) {
  const Stamp at = now();
  return change(log_, at, job, [&](JobState& state) -> Result<EventLog::Entries> {
    PJ_TRY(const TrialRecord record, known_trial(state, trial));
    if (record.state != TrialState::kRunning) return ended(state, record);
    return EventLog::Entries{ending_of(trial, TrialState::kAbandoned, at)};
  });
}

// As the next call will find it: who is lost by now is shown as lost.
Result<JobStatus> JobService::status(const std::string& job) const {
  PJ_TRY(const EventLog::Entries entries, log_.read(log_of(job)));
  PJ_TRY(JobState state, JobState::replay(job, entries));
  for (const Json& entry : state.lost(now())) PJ_CHECK(state.apply(entry));
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

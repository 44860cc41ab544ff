#include "server/services/pipelines.h"

#include <algorithm>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::int64_t kMostStages = 4096;
constexpr std::int64_t kMostCount = 1'000'000;
constexpr Seconds kUsualTimeout{600};
constexpr std::size_t kMostClients = 100'000;
constexpr std::size_t kLongestName = 200;

/// A document's members, each read once; the first that is wrong, and any that nobody read.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {}

  int count(const char* name, int usual, std::int64_t least, std::int64_t most) {
    const Json* const found = find(name);
    if (found == nullptr) return usual;
    const auto value = found->as_integer();
    if (!value || *value < least || *value > most) wrong(name);
    return static_cast<int>(std::clamp(value.value_or(least), least, most));
  }
  double number(const char* name, double usual, double least, double most) {
    const Json* const found = find(name);
    if (found == nullptr) return usual;
    const auto value = found->as_number();
    if (!value || !(*value >= least && *value <= most)) wrong(name);
    return value.value_or(usual);
  }
  std::string text(const char* name, const char* usual) {
    const Json* const found = find(name);
    if (found == nullptr) return usual;
    if (!found->is_string()) wrong(name);
    return found->is_string() ? *found->as_string() : usual;
  }
  bool flag(const char* name) {
    const Json* const found = find(name);
    if (found == nullptr) return false;
    if (!found->is_bool()) wrong(name);
    return found->as_bool().value_or(false);
  }
  /// Clocks in MHz, the highest first.
  std::vector<double> clocks(const char* name) {
    std::vector<double> clocks;
    const Json* const found = find(name);
    if (found == nullptr) return clocks;
    if (!found->is_array()) wrong(name);
    for (const Json& one : found->is_array() ? *found->as_array() : Json::Array()) {
      const auto clock = one.as_number();
      if (!clock || !(*clock > 0 && *clock < 1e5)) wrong(name);
      clocks.push_back(clock.value_or(0));
    }
    std::sort(clocks.begin(), clocks.end(), std::greater<>());
    clocks.erase(std::unique(clocks.begin(), clocks.end()), clocks.end());
    return clocks;
  }
  Outcome outcome() const {
    if (!wrong_.empty())
      return Error::invalid_argument("\"" + wrong_ + "\" is not what it should be");
    for (const auto& [name, value] : *json_.as_object()) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end())
        return Error::invalid_argument("a pipeline has no member \"" + name + "\"");
    }
    return {};
  }

 private:
  const Json* find(const char* name) {
    known_.emplace_back(name);
    return json_.find(name);
  }
  void wrong(const char* name) {
    if (wrong_.empty()) wrong_ = name;
  }
  const Json& json_;
  std::vector<std::string> known_;
  std::string wrong_;
};

PipelineJob job_in(Members& members) {
  PipelineJob job;
  job.schedule = members.text("schedule", "1f1b");
  job.shape.stages = members.count("stages", 0, 1, kMostStages);
  job.shape.microbatches = members.count("microbatches", 1, 1, kMostCount);
  job.shape.chunks = members.count("chunks", 1, 1, kMostStages);
  job.pipelines = members.count("pipelines", 1, 1, kMostStages);
  job.tensor = members.count("tensor", 1, 1, kMostStages);
  return job;
}

RuntimeRequest request_in(Members& members) {
  RuntimeRequest request;
  for (const double clock : members.clocks("clocks_mhz")) {
    Config setting;
    setting.set("clock", exact(clock) + " MHz");
    request.settings.push_back(std::move(setting));
  }
  request.only_profile = members.flag("only_profile");
  request.warm_up = members.count("warm_up", request.warm_up, 0, kMostCount);
  request.rounds = members.count("rounds", request.rounds, 1, kMostCount);
  request.highest = members.count("compare", request.highest, 1, kMostCount);
  request.plans.slowdown = members.number("slowdown", request.plans.slowdown, 1, 1e6);
  request.drift = members.number("drift", request.drift, 0, 1e6);
  request.patience = members.count("patience", request.patience, 1, kMostCount);
  return request;
}

/// The error that a line is answered with, as the error that it is.
Result<Json> answer_of(const std::string& line) {
  PJ_TRY(Json answer, parse_json(line));
  if (auto error = error_of(answer)) return tl::unexpected<Error>(std::move(*error));
  return answer;
}

/// Whom no rank uses: a rank's word has its principal before it.
constexpr int kNobody = -1;

}  // namespace

Result<std::string> Pipelines::make(const Json& definition) {
  Members members(definition);
  PipelineJob job = job_in(members);
  RuntimeRequest request = request_in(members);
  const Seconds timeout(members.number("timeout_s", kUsualTimeout.value(), 1, 1e6));
  PJ_CHECK(members.outcome());
  if (job.shape.stages == 0) return Error::invalid_argument("\"stages\" is missing");
  // An order file would be one of this machine's, named by somebody elsewhere.
  if (job.schedule.find('/') != std::string::npos || job.schedule.find('.') != std::string::npos)
    return Error::invalid_argument("\"schedule\" is no schedule's name: " + job.schedule);
  auto training = std::make_shared<Training>();
  training->timeout = timeout;
  PJ_TRY(training->service, PlanService::make(std::move(job), std::move(request)));
  training->questions = std::make_unique<PlanQuestions>(*training->service);
  const std::lock_guard lock(mutex_);
  if (trainings_.size() >= kMost) {
    return Error::conflict("there are " + std::to_string(kMost) + " pipelines already",
                           "DELETE those that are over");
  }
  const std::string id = "pipeline-" + std::to_string(++made_);
  trainings_[id] = std::move(training);
  return id;
}

Result<std::shared_ptr<Pipelines::Training>> Pipelines::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = trainings_.find(id);
  if (found != trainings_.end()) return found->second;
  return Error::not_found("there is no pipeline " + id, "POST /api/v1/pipelines makes one");
}

void Pipelines::part_from_silent(Training& training) const {
  const Instant now = clock_.now();
  std::erase_if(training.clients, [&](const auto& one) {
    if (now - one.second.heard < training.timeout) return false;
    training.questions->left(one.second.number);
    return true;
  });
}

Result<Json> Pipelines::ask(const std::string& id, const std::string& principal,
                            const Json& question) {
  const std::string name = question.string("client").value_or("");
  if (name.empty() || name.size() > kLongestName) {
    return Error::invalid_argument("\"client\" is missing, or no word of at most 200 letters",
                                   "a word that no other rank has, such as host and process");
  }
  PJ_TRY(const auto training, find(id));
  const std::lock_guard lock(training->mutex);
  part_from_silent(*training);
  if (training->clients.size() >= kMostClients)
    return Error::conflict("too many clients ask the pipeline " + id);
  const auto [client, is_new] = training->clients.try_emplace(principal + " " + name);
  if (is_new) {
    client->second.number = training->next_client++;
    training->questions->came(client->second.number, 0);
  }
  client->second.heard = clock_.now();
  auto answer = answer_of(training->questions->answer(client->second.number, question.dump()));
  if (answer && question.string("call") == "leave") {
    training->questions->left(client->second.number);
    training->clients.erase(client);
  }
  return answer;
}

Result<Json> Pipelines::straggler(const std::string& id, const Json& words) {
  PJ_TRY(const auto training, find(id));
  Json question = words;
  question["call"] = "straggle";
  const std::lock_guard lock(training->mutex);
  return answer_of(training->questions->answer(kNobody, question.dump()));
}

Result<Json> Pipelines::status(const std::string& id) {
  PJ_TRY(const auto training, find(id));
  const std::lock_guard lock(training->mutex);
  part_from_silent(*training);
  Json status = status_json(*training->service);
  status["lost_ranks"] = training->questions->lost();
  return status;
}

std::vector<std::string> Pipelines::ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, training] : trainings_) ids.push_back(id);
  return ids;
}

Outcome Pipelines::erase(const std::string& id) {
  std::shared_ptr<Training> training;  // ends without the lock: a plan may be in the making
  {
    const std::lock_guard lock(mutex_);
    const auto found = trainings_.find(id);
    if (found == trainings_.end()) return Error::not_found("there is no pipeline " + id);
    training = std::move(found->second);
    trainings_.erase(found);
  }
  return {};
}

}  // namespace perjoule

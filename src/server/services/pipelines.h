// Pipeline trainings whose ranks are on other machines: each a plan service that is asked the same
// questions as over a socket of lines (pipeline/runtime/plan_questions.h).
//
//   Pipelines pipelines(clock);
//   PJ_TRY(const std::string id, pipelines.make(document));
//   PJ_TRY(const Json answer, pipelines.ask(id, "token:train", question));
//
// A rank is known by the word `client` of its questions, which is its own within the principal that
// asks. One that has been silent for the training's timeout is taken for gone, as one whose socket
// has closed. Trainings are in memory: after a restart of the daemon they are made anew. Any
// thread; questions of one training are answered one at a time.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "pipeline/runtime/plan_questions.h"

namespace perjoule {

class Pipelines {
 public:
  static constexpr std::size_t kMost = 64;

  /// The clock must outlive it.
  explicit Pipelines(const Clock& clock) : clock_(clock) {}

  /// What a document perjoule.pipeline-definition says; its id. invalid_argument for what makes no
  /// sense, conflict with too many.
  Result<std::string> make(const Json& definition);
  /// not_found for a training there is not; else the error that the answer would be.
  Result<Json> ask(const std::string& id, const std::string& principal, const Json& question);
  /// A pipeline keeps the others waiting, or does so no more: a question `straggle` without its
  /// `call`.
  Result<Json> straggler(const std::string& id, const Json& words);
  Result<Json> status(const std::string& id);
  std::vector<std::string> ids() const;
  Outcome erase(const std::string& id);

 private:
  struct Client {
    int number = 0;
    Instant heard;
  };
  struct Training {
    std::mutex mutex;  ///< what follows
    Seconds timeout;
    std::unique_ptr<PlanService> service;
    std::unique_ptr<PlanQuestions> questions;
    std::map<std::string, Client> clients;
    int next_client = 0;
  };
  Result<std::shared_ptr<Training>> find(const std::string& id) const;
  /// Those that have been silent for too long are gone.
  void part_from_silent(Training& training) const;

  const Clock& clock_;
  mutable std::mutex mutex_;  // what follows
  std::map<std::string, std::shared_ptr<Training>> trainings_;
  std::uint64_t made_ = 0;
};

}  // namespace perjoule

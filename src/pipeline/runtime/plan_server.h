// The plan service for other processes: a LineServer that answers what plan_questions.h lists.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/line_socket.h"
#include "pipeline/runtime/plan_questions.h"

namespace perjoule {

class PlanServer final {
 public:
  /// Called from the server's thread.
  using RankLost = PlanQuestions::RankLost;

  /// Serves from now on; the service must outlive it.
  static Result<std::unique_ptr<PlanServer>> start(const std::string& path, PlanService& service,
                                                   RankLost lost = {});
  const std::string& path() const { return server_->path(); }
  /// Ranks that ended without leaving.
  int lost() const { return questions_.lost(); }
  /// The processes of ranks that joined and have not left.
  std::vector<ProcessIdentity> not_left() const { return questions_.not_left(); }

 private:
  PlanServer(PlanService& service, RankLost lost) : questions_(service, std::move(lost)) {}

  PlanQuestions questions_;
  std::unique_ptr<LineServer> server_;  ///< the last member: it uses the other
};

/// Asks a plan server; what it answers, or the error that it answers with.
Result<Json> ask_plan_server(LineClient& client, const Json& question, Seconds patience);

}  // namespace perjoule

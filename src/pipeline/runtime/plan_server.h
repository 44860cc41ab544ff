// The plan service for other processes: a LineServer whose lines are JSON (docs/formats.md).
//
//   {"call": "join", "pipeline": 0, "stage": 1, "tensor": 0, "counter": {...}, ...}
//   {"call": "next", "rank": 3, "iteration": 7, "report": {...}}
//   {"call": "leave", "rank": 3, "report": {...}}
//   {"call": "straggle", "pipeline": 1, "slowdown": 1.2}     or "until_s", or "over": true
//   {"call": "status"}
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "net/line_socket.h"
#include "pipeline/runtime/plan_messages.h"
#include "pipeline/runtime/plan_service.h"

namespace perjoule {

class PlanServer final : private LineService {
 public:
  /// Called from the server's thread when a rank's process has ended without leaving: its clocks
  /// may still be locked.
  using RankLost = std::function<void(int rank)>;

  /// Serves from now on; the service must outlive it.
  static Result<std::unique_ptr<PlanServer>> start(const std::string& path, PlanService& service,
                                                   RankLost lost = {});
  const std::string& path() const { return server_->path(); }
  /// Ranks that ended without leaving.
  int lost() const;

 private:
  PlanServer(PlanService& service, RankLost lost) : service_(service), lost_(std::move(lost)) {}
  std::string answer(int client, std::string_view line) override;
  void left(int client) override;
  Result<Json> respond(int client, const Json& question);
  Result<Json> straggle(const Json& question);

  PlanService& service_;
  RankLost lost_;
  std::map<int, int> rank_of_;  ///< client: rank; the server's thread alone
  mutable std::mutex mutex_;
  int lost_count_ = 0;
  std::unique_ptr<LineServer> server_;  ///< the last member: it uses the others
};

/// Asks a plan server; what it answers, or the error that it answers with.
Result<Json> ask_plan_server(LineClient& client, const Json& question, Seconds patience);

/// perjoule.pipeline-run.v1: phases, stretches and what failed.
Json status_json(const PlanService& service);

}  // namespace perjoule

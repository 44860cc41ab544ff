// What clients ask of a plan service, lines of JSON, and what they are answered (docs/formats.md).
//
//   {"call": "join", "pipeline": 0, "stage": 1, "tensor": 0, "counter": {...}, ...}
//   {"call": "next", "rank": 3, "iteration": 7, "report": {...}}
//   {"call": "leave", "rank": 3, "report": {...}}
//   {"call": "straggle", "pipeline": 1, "slowdown": 1.2}     or "until_s", or "over": true
//   {"call": "status"}
//
// It knows no sockets: a line and who says it are all it needs.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/journal.h"
#include "net/line_socket.h"
#include "pipeline/runtime/plan_messages.h"
#include "pipeline/runtime/plan_service.h"

namespace perjoule {

class PlanQuestions final : public LineService {
 public:
  /// Called when a rank's client has ended without leaving: its clocks may still be locked.
  using RankLost = std::function<void(int rank)>;

  /// The service must outlive it.
  explicit PlanQuestions(PlanService& service, RankLost lost = {})
      : service_(service), lost_(std::move(lost)) {}

  /// One line; an error is answered as {"error": {...}}. A client is one rank at most.
  void came(int client, std::int64_t process) override;
  std::string answer(int client, std::string_view line) override;
  void left(int client) override;
  /// Ranks that ended without leaving. From any thread, where the others are called from one.
  int lost() const;
  /// The processes of ranks that joined and have not left, ended or not: until they are dead, their
  /// clocks may be locked. From any thread.
  std::vector<ProcessIdentity> not_left() const;

 private:
  Result<Json> respond(int client, const Json& question);
  Result<Json> straggle(const Json& question);

  PlanService& service_;
  RankLost lost_;
  std::map<int, int> rank_of_;                 ///< client: rank
  std::map<int, ProcessIdentity> process_of_;  ///< of clients that are connected
  mutable std::mutex mutex_;                   ///< guards all below
  int lost_count_ = 0;
  std::map<int, ProcessIdentity> not_left_;  ///< by client
};

/// perjoule.pipeline-run.v1: phases, stretches and what failed.
Json status_json(const PlanService& service);

}  // namespace perjoule

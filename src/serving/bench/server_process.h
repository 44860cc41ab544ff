// A server that is started for a while: by a command of the user's, waited for until it answers,
// and ended with everything below it.
//
//   PJ_TRY(auto server, ServerProcess::start(plan, clock, stop));   // ready
//   ...
//   PJ_CHECK(server->end());
//
// It has a session of its own, whose number it writes before it begins: where we are killed, the
// next one ends what is left of it (end_left_over). What then has left that session, too, is not
// found; it answers at `ready`, and is told of.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "meter/process_tree.h"
#include "net/http_url.h"

namespace perjoule {

struct ServerPlan {
  std::string command = {};                ///< for /bin/sh
  HttpUrl ready = {};                      ///< answers with status 200 once it serves
  Seconds ready_within = Seconds(1800);    ///< from its start
  std::optional<Seconds> silent_for = {};  ///< a log that stands still so long has failed
  Seconds grace = Seconds(30);             ///< between SIGTERM and SIGKILL
  std::string log = {};                    ///< a file, appended to
  std::string state = {};                  ///< a file that tells of it while it runs
};

class ServerProcess {
 public:
  /// conflict where something answers at `ready` before it is started: that would be measured in
  /// its place. unavailable where it ends, falls silent or does not answer in time, with the last
  /// lines of its log.
  static Result<std::unique_ptr<ServerProcess>> start(const ServerPlan& plan, const Clock& clock,
                                                      const std::stop_token& stop);
  ~ServerProcess();
  /// Asks it and all below it to end, and makes them after the grace. unavailable where some stay.
  Outcome end();
  /// It ended by itself.
  bool has_ended();

 private:
  ServerProcess(ServerPlan plan, const Clock& clock, ProcessTree tree, ChildProcess child)
      : plan_(std::move(plan)), clock_(clock), tree_(std::move(tree)), child_(std::move(child)) {}
  Outcome wait_until_ready(const std::stop_token& stop);

  ServerPlan plan_;
  const Clock& clock_;
  ProcessTree tree_;
  std::optional<ChildProcess> child_;
};

/// Ends what the state file tells of, where it still runs. Answers whether there was anything.
Result<bool> end_left_over(const std::string& state, const Clock& clock, Seconds grace);

}  // namespace perjoule

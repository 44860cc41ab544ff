// perjoule serve: the daemon.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/file.h"
#include "base/text.h"
#include "cli/descriptors.h"
#include "cli/machine.h"
#include "cli/serve_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "meter/calibration.h"
#include "meter/signals.h"
#include "server/daemon/daemon.h"
#include "server/daemon/privileges.h"
#include "server/daemon/service_manager.h"
#include "server/knobs/knob_helper.h"

namespace perjoule::cli {
namespace {

constexpr Seconds kPatience{5};
constexpr int kLookEveryMs = 500;

/// The user that the daemon is from now on.
Outcome become(const std::string& user) {
  if (user.empty()) return {};
  PJ_TRY(const SystemUser who, find_user(user));
  return become_user(who);
}

void print_start(const Arguments& arguments, const Daemon& daemon, const DaemonOptions& options) {
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.serve.v1";
    json["node"] = options.node.name;
    json["addresses"] = Json::array();
    for (const std::string& address : daemon.addresses()) json["addresses"].push_back(address);
    print(json.dump() + "\n");
    return;
  }
  for (const std::string& address : daemon.addresses()) print("serving at " + address + "\n");
}

/// Until a signal ends us, which it answers; or until the daemon is of no more use.
Result<int> wait_for_end(const SignalWatch& signals, Daemon& daemon,
                         const ServiceManager& manager) {
  for (;;) {
    pollfd watched{signals.fd(), POLLIN, 0};
    if (::poll(&watched, 1, kLookEveryMs) < 0 && errno != EINTR) return SIGTERM;
    PJ_CHECK(daemon.look_after());
    while (const auto arrived = signals.next()) {
      if (arrived->signal == SIGUSR1 || arrived->signal == SIGUSR2) continue;
      if (arrived->signal != SIGHUP) return arrived->signal;
      manager.reloading();
      if (const auto read = daemon.reload_tokens(); !read) {
        complain("the tokens stay as they were: " + read.error().text());
      }
      manager.ready();
    }
  }
}

/// Knows the machine's knobs, and puts back first what dead processes left.
Result<std::shared_ptr<KnobHand>> start_helper(const Clock& clock) {
  const auto find = [&clock]() -> Result<Inventory> {
    PJ_TRY(Inventory machine, look_at_machine(clock));
    tell(replay_dead(journal_folder(), machine));
    return machine;
  };
  PJ_TRY(auto helper, KnobHelper::start(find, journal_folder()));
  return std::shared_ptr<KnobHand>(std::move(helper));
}

Result<int> serve(const Arguments& arguments) {
  PJ_TRY(DaemonOptions options, daemon_options(arguments));
  const RealClock clock;
  // Before there is a thread, and before rights are given up.
  PJ_TRY(options.hand, start_helper(clock));
  PJ_TRY(const SignalWatch signals, SignalWatch::start());
  allow_many_descriptors();
  PJ_TRY(Inventory machine, look_at_machine(clock));
  PJ_TRY(DaemonSockets sockets, bind_sockets(options));
  PJ_CHECK(become(arguments.value("user")));
  PJ_TRY(options.node.calibrations, load_calibrations(calibration_path()));
  const ServiceManager manager = ServiceManager::find();
  PJ_TRY(const auto daemon, Daemon::start(std::move(machine), options, std::move(sockets), clock));
  print_start(arguments, *daemon, options);
  if (output_failed() != 0) return Error::from_errno(output_failed(), "writing standard output");
  manager.ready();
  const auto ended = wait_for_end(signals, *daemon, manager);
  manager.stopping();
  const Outcome put_back = daemon->stop(kPatience);
  PJ_TRY(const int signal, ended);
  if (!put_back) return fail(put_back);
  return signal == SIGTERM || signal == SIGINT ? kDone : kSignalled + signal;
}

}  // namespace

Verb serve_verb() {
  Verb verb;
  verb.name = "serve";
  verb.summary = "the daemon: this machine's power for others, as pages, JSON and metrics";
  verb.description =
      "Measures this machine once a second and serves it: a dashboard, REST below /api/v1 "
      "(described "
      "at /api/v1/openapi.json), server-sent events, and /metrics for Prometheus. It listens on a "
      "Unix socket, whose users and groups have roles (read, control, admin); on TCP only for "
      "those "
      "who have a token (perjoule token add). SIGHUP reads the tokens again; SIGTERM ends it when "
      "what is being answered is. docs/serve.md tells more.";
  verb.has_page = false;
  verb.options = serve_options();
  verb.examples = {"perjoule serve", "perjoule serve --open-loopback 8470",
                   "perjoule serve --tcp 0.0.0.0:8470 --tokens /etc/perjoule/tokens "
                   "--tls-certificate node.pem --tls-key node.key",
                   "curl --unix-socket /run/perjoule/perjoule.sock http://perjoule/metrics"};
  verb.run = serve;
  return verb;
}

}  // namespace perjoule::cli

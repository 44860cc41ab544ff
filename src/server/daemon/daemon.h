// The daemon: a node, what others may ask of it, and where it listens.
//
//   PJ_TRY(const auto daemon, Daemon::start(std::move(machine), std::move(options), clock));
//   ...                                  // until a signal
//   daemon->reload_tokens();             // SIGHUP
//   daemon->stop(Seconds(5));            // takes no more, lets what runs end
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/discovery.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "server/http/router.h"
#include "server/knobs/lease_book.h"
#include "server/node/node.h"
#include "server/services/job_routes.h"
#include "server/services/pipelines.h"
#include "server/services/run_routes.h"
#include "server/zeusd/zeusd.h"

namespace perjoule {

struct DaemonOptions {
  std::string version;
  Node::Options node;

  std::string socket = {};    ///< path of the Unix socket; empty: none
  mode_t socket_mode = 0666;  ///< roles say what each may
  std::string zeusd = {};     ///< path of the Unix socket for Zeus's clients; empty: none
  struct Tcp {
    std::string address;
    int port = 0;
  };
  std::vector<Tcp> tcp = {};                        ///< asked for tokens
  std::optional<ServerIdentity> identity = {};      ///< TLS on those
  std::optional<int> open_loopback = std::nullopt;  ///< a port where all of this machine may read

  std::string tokens = {};  ///< file; empty: none
  LocalRoles local = {};
  std::string audit = {};  ///< file; empty: none
  std::string documents = {};
  OpenStore open_store = {};
  OpenJobs open_jobs = {};
  std::shared_ptr<KnobHand> hand = {};  ///< null: no leases
  Router::Limits limits = {};
  ServerLimits server = {};
};

/// The Unix sockets, which root makes before the daemon becomes another user: their folder stays
/// root's.
struct DaemonSockets {
  std::optional<UnixSocket> local = {};
  std::optional<UnixSocket> zeusd = {};
};
Result<DaemonSockets> bind_sockets(const DaemonOptions& options);

class Daemon {
 public:
  /// Listens when it returns. Errors of the sockets, the tokens, and of a machine that nothing can
  /// be measured of.
  static Result<std::unique_ptr<Daemon>> start(Inventory machine, DaemonOptions options,
                                               DaemonSockets sockets, const Clock& clock);
  ~Daemon();

  /// A file that makes no sense changes nothing.
  Outcome reload_tokens();
  /// Takes no more connections, ends the streams, waits so long for what is being answered, and
  /// puts back all that is leased; the error says what could not be.
  Outcome stop(Seconds patience);
  /// What must not wait for long: ends streams of those who may not listen any more. unavailable
  /// where the daemon is of no more use, for its helper has ended.
  Outcome look_after();

  /// "unix:/run/perjoule/perjoule.sock", "https://0.0.0.0:8470".
  const std::vector<std::string>& addresses() const { return addresses_; }
  Node& node() { return *node_; }

 private:
  Daemon(DaemonOptions options, DaemonSockets sockets, const Clock& clock)
      : options_(std::move(options)),
        sockets_(std::move(sockets)),
        clock_(clock),
        began_(clock.now()),
        pipelines_(clock) {}
  Result<AuditLog> open_audit() const;
  Outcome start_zeusd(std::shared_ptr<const Gate> gate);
  Outcome listen();
  Outcome serve_tcp(FileDescriptor socket, const std::string& name, bool is_open);
  Result<std::shared_ptr<const Gate>> make_gate() const;
  Outcome add_routes();
  std::vector<Route> own_routes();
  std::string metrics() const;

  const DaemonOptions options_;
  DaemonSockets sockets_;
  const Clock& clock_;
  const Instant began_;
  Pipelines pipelines_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<LeaseBook> leases_;
  std::unique_ptr<Router> router_;
  std::string openapi_;
  std::vector<std::string> addresses_;
  std::unique_ptr<Zeusd> zeusd_;  // and the one below: their threads use all else
  std::unique_ptr<HttpServer> server_;
};

}  // namespace perjoule

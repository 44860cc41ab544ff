// The routes of Zeus's privileged daemon on a Unix socket of their own, so that programs which
// know that daemon work on a node as they are, with a node's bounds, leases and restore behind it.
//
//   PJ_TRY(const auto zeusd, Zeusd::start(node, leases, gate, clock, {.socket =
//   std::move(socket)}));
//
// Who may what is said by the same gate as elsewhere. What a client sets it holds until it resets
// it or ends; two clients that want one thing are told of one another.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/http_server.h"
#include "net/listen.h"
#include "server/http/router.h"
#include "server/node/node.h"
#include "server/zeusd/control_routes.h"
#include "server/zeusd/power_streams.h"
#include "server/zeusd/process_leases.h"
#include "server/zeusd/zeusd_devices.h"

namespace perjoule {

class Zeusd {
 public:
  struct Options {
    std::optional<UnixSocket> socket = {};  ///< none: for tests
    std::string version = {};
    Router::Limits limits = {};
    ServerLimits server = {};
  };
  /// All must outlive it; `leases` null: it only tells. Listens when it returns.
  static Result<std::unique_ptr<Zeusd>> start(Node& node, LeaseBook* leases,
                                              std::shared_ptr<const Gate> gate, const Clock& clock,
                                              Options options, AuditLog audit = {});
  ~Zeusd();

  Router& router() { return *router_; }
  PowerStreams& streams() { return *streams_; }
  /// Null where it only tells.
  ProcessLeases* held() { return held_.get(); }
  std::uint64_t failed_unheard() const { return control_ ? control_->failed_unheard() : 0; }
  /// Takes no more, ends the streams.
  void stop();
  /// Requests that are not over.
  std::size_t exchanges() const { return server_ ? server_->exchanges() : 0; }

 private:
  explicit Zeusd(Options options) : options_(std::move(options)) {}
  Outcome add_routes(Node& node, const Clock& clock);
  Outcome listen();

  Options options_;
  ZeusdDevices devices_;
  std::unique_ptr<PowerStreams> streams_;
  std::unique_ptr<ProcessLeases> held_;
  std::unique_ptr<ZeusdControl> control_;
  std::unique_ptr<Router> router_;
  std::string openapi_;
  std::unique_ptr<HttpServer> server_;  // last: its threads use all else
};

}  // namespace perjoule

// From a request to its route's handler: who asks, whether he may, how often, with what; and from
// its answer or error to what goes back.
//
//   Router router(gate, clock, {});
//   router.add(routes_of(node));
//   PJ_TRY(const auto server, HttpServer::create(router, limits));
//
// Nothing reaches a handler that is not as its Route says: unknown and repeated parameters, numbers
// that are none and bodies that are no JSON are refused here. All routes are added before the
// server serves. Handlers are called by the server's threads, several at a time; slow ones by
// workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/http_server.h"
#include "server/http/audit_log.h"
#include "server/http/rate_limit.h"
#include "server/http/route.h"
#include "server/http/worker_pool.h"

namespace perjoule {

class Router final : public ServerHandler {
 public:
  struct Limits {
    RateLimit::Rule reads = {};    ///< of each principal
    RateLimit::Rule changes = {};  ///< of routes that ask for more than the role read
    unsigned workers = 4;
    std::size_t most_waiting = 256;  ///< for a worker
  };
  /// `gate` may be changed while the router serves; `clock` must outlive it.
  Router(std::shared_ptr<const Gate> gate, const Clock& clock, const Limits& limits,
         AuditLog audit = {});

  void add(std::vector<Route> routes);
  const std::vector<Route>& routes() const { return routes_; }
  /// From now on, when its file was read again.
  void change_gate(std::shared_ptr<const Gate> gate);
  /// Ends the streams of those who may not listen any more: their token has expired, or is gone.
  void end_streams_of_others();

  void handle(const ServerRequest& request, std::shared_ptr<ServerExchange> exchange) override;
  void ended(const ServerExchange& exchange) override;
  /// As its route has it, for those alone who may ask it.
  std::size_t most_body(const ServerRequest& request) const override;
  std::string refusal(int status, std::string_view why) const override;

  /// Answers so far by their status.
  std::map<int, std::uint64_t> answers() const;
  std::uint64_t audit_lost() const { return audit_.lost(); }

 private:
  /// A request whose route is found, and all that the route asks for is there.
  struct Admitted {
    const Route* route = nullptr;
    HttpTarget target = {};
    Principal who = {.name = "nobody"};
    std::vector<std::string> captured = {};
    Json body = {};
    Call call(const ServerRequest& request) const;
  };
  struct Refused {
    Principal who;
    bool is_audited = false;
    Reply reply;
  };
  using Admission = tl::expected<Admitted, Refused>;
  static tl::unexpected<Refused> refused(Reply reply, Principal who = {.name = "nobody"},
                                         bool is_audited = false);
  /// By method and address.
  Admission address(const ServerRequest& request) const;
  Admission admit(const ServerRequest& request);
  /// Sets who asks; the refusal where he may not, or not now.
  std::optional<Reply> authorise(const ServerRequest& request, Admitted& admitted);
  void answer(const ServerRequest& request, const Admitted& admitted, ServerExchange& exchange);
  void begin_stream(const ServerRequest& request, const Admitted& admitted,
                    std::shared_ptr<ServerExchange> exchange);
  void give(const ServerRequest& request, const Principal& who, bool is_audited, Reply reply,
            ServerExchange& exchange);

  const Clock& clock_;
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> patterns_;  ///< of the routes, cut at "/"
  RateLimit reads_;
  RateLimit changes_;
  RateLimit refusals_{{.per_second = 20, .burst = 100}};  ///< by where they come from
  AuditLog audit_;
  mutable std::mutex mutex_;  // the three below
  std::shared_ptr<const Gate> gate_;
  struct Stream {
    StreamOwner* owner = nullptr;
    Role role = Role::kRead;  ///< that it asks for
    ServerRequest request;    ///< who asked
    std::weak_ptr<ServerExchange> exchange;
  };
  std::map<const ServerExchange*, Stream> streams_;
  std::map<int, std::uint64_t> answers_;
  WorkerPool workers_;  // last: they use all else
};

}  // namespace perjoule

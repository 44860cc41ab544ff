#include "server/daemon/daemon.h"

#include <unistd.h>

#include <algorithm>

#include "server/http/openapi.h"
#include "server/http/token_file.h"
#include "server/knobs/lease_routes.h"
#include "server/node/exposition.h"
#include "server/node/node_routes.h"
#include "server/pages/page_routes.h"
#include "server/services/document_routes.h"
#include "server/services/pipeline_routes.h"

namespace perjoule {
namespace {

constexpr const char* kLocal = "local";
constexpr const char* kTcp = "tcp";
constexpr const char* kOpen = "open";

std::string host_text(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

void add_lease_metrics(MetricsPage& page, const LeaseBook& book) {
  const std::vector<Lease> leases = book.all();
  page.family("perjoule_leases", MetricKind::kGauge, "Knobs on loan.");
  page.sample({}, static_cast<double>(leases.size()));
  page.family("perjoule_leases_stuck", MetricKind::kGauge,
              "Knobs whose lease is over and that could not be put back yet.");
  page.sample(
      {}, static_cast<double>(std::count_if(leases.begin(), leases.end(), [](const Lease& lease) {
        return !lease.trouble.empty();
      })));
}

}  // namespace

Result<DaemonSockets> bind_sockets(const DaemonOptions& options) {
  DaemonSockets sockets;
  if (!options.socket.empty()) {
    PJ_TRY(UnixSocket local, listen_on_unix(options.socket, options.socket_mode));
    sockets.local.emplace(std::move(local));
  }
  if (!options.zeusd.empty()) {
    PJ_TRY(UnixSocket zeusd, listen_on_unix(options.zeusd, options.socket_mode));
    sockets.zeusd.emplace(std::move(zeusd));
  }
  return sockets;
}

Result<std::unique_ptr<Daemon>> Daemon::start(Inventory machine, DaemonOptions options,
                                              DaemonSockets sockets, const Clock& clock) {
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(options), std::move(sockets), clock));
  const DaemonOptions& its = daemon->options_;
  PJ_TRY(daemon->node_, Node::start(std::move(machine), its.node, clock));
  PJ_TRY(auto gate, daemon->make_gate());
  PJ_TRY(AuditLog audit, daemon->open_audit());
  daemon->router_ = std::make_unique<Router>(gate, clock, its.limits, std::move(audit));
  if (its.hand != nullptr) daemon->leases_ = std::make_unique<LeaseBook>(*its.hand, clock);
  PJ_CHECK(daemon->add_routes());
  PJ_CHECK(daemon->listen());
  if (!its.zeusd.empty()) PJ_CHECK(daemon->start_zeusd(std::move(gate)));
  return daemon;
}

Result<AuditLog> Daemon::open_audit() const {
  if (options_.audit.empty()) return AuditLog();
  return AuditLog::open(options_.audit);
}

Outcome Daemon::start_zeusd(std::shared_ptr<const Gate> gate) {
  Zeusd::Options how{.socket = std::move(sockets_.zeusd),
                     .version = options_.version,
                     .limits = options_.limits,
                     .server = options_.server};
  // A training may set clocks with every instruction of its pipeline.
  how.limits.changes = how.limits.reads;
  PJ_TRY(AuditLog audit, open_audit());
  PJ_TRY(zeusd_, Zeusd::start(*node_, leases_.get(), std::move(gate), clock_, std::move(how),
                              std::move(audit)));
  addresses_.push_back("unix:" + options_.zeusd);
  return {};
}

Daemon::~Daemon() {
  server_.reset();
  zeusd_.reset();
}

Result<std::shared_ptr<const Gate>> Daemon::make_gate() const {
  GateRules rules{.local = options_.local, .open_listeners = {kOpen}, .own_uid = ::geteuid()};
  if (!options_.tokens.empty()) {
    PJ_TRY(rules.tokens, read_tokens(options_.tokens));
  }
  return std::make_shared<const Gate>(std::move(rules));
}

Outcome Daemon::reload_tokens() {
  PJ_TRY(auto gate, make_gate());
  if (zeusd_ != nullptr) zeusd_->router().change_gate(gate);
  router_->change_gate(std::move(gate));
  return {};
}

Outcome Daemon::add_routes() {
  router_->add(own_routes());
  router_->add(node_routes(*node_));
  if (leases_ != nullptr) router_->add(lease_routes(*leases_, clock_));
  if (options_.open_store) router_->add(run_routes(options_.open_store));
  if (options_.open_jobs) router_->add(job_routes(options_.open_jobs));
  router_->add(pipeline_routes(pipelines_));
  router_->add(document_routes(options_.documents));
  router_->add(page_routes());
  PJ_TRY(const Json document,
         openapi_document(router_->routes(), document_schemas(), options_.version));
  openapi_ = document.dump(2) + "\n";
  return {};
}

std::vector<Route> Daemon::own_routes() {
  std::vector<Route> routes;
  routes.push_back({.pattern = "/healthz",
                    .role = Role::kNone,
                    .summary = "Whether the daemon runs",
                    .answer_type = "text/plain",
                    .handle = [](const Call&) -> Result<Reply> {
                      return Reply{.content_type = "text/plain", .body = "ok\n"};
                    }});
  routes.push_back({.pattern = "/readyz",
                    .role = Role::kNone,
                    .summary = "Whether it has measured its first second",
                    .answer_type = "text/plain",
                    .handle = [this](const Call&) -> Result<Reply> {
                      const bool has_hand = options_.hand == nullptr || options_.hand->lives();
                      const bool ready = node_->latest() != nullptr && has_hand;
                      return Reply{.status = ready ? 200 : 503,
                                   .content_type = "text/plain",
                                   .body = ready      ? "ready\n"
                                           : has_hand ? "not measured yet\n"
                                                      : "the knobs' helper has ended\n"};
                    }});
  routes.push_back({.pattern = "/metrics",
                    .summary = "The node for Prometheus",
                    .answer_type = "text/plain",
                    .handle = [this](const Call&) -> Result<Reply> {
                      return Reply{.content_type = std::string(kMetricsPageType),
                                   .body = metrics()};
                    }});
  routes.push_back({.pattern = "/api/v1/version",
                    .role = Role::kNone,
                    .summary = "The daemon's version, and who asks",
                    .answer = "perjoule.version.v1",
                    .handle = [this](const Call& call) -> Result<Reply> {
                      Json json = Json::object();
                      json["schema"] = "perjoule.version.v1";
                      json["version"] = options_.version;
                      json["api"] = "v1";
                      json["node"] = options_.node.name;
                      json["who"] = call.principal.name;
                      json["role"] = name_of(call.principal.role);
                      return Reply::json(json);
                    }});
  routes.push_back(
      {.pattern = "/api/v1/openapi.json",
       .role = Role::kNone,
       .summary = "This description",
       .answer = "openapi",
       .handle = [this](const Call&) -> Result<Reply> { return Reply{.body = openapi_}; }});
  return routes;
}

std::string Daemon::metrics() const {
  MetricsPage page;
  page.family("perjoule_build_info", MetricKind::kGauge, "The daemon's version.");
  page.sample({{"version", options_.version}}, 1);
  add_node_metrics(page, *node_);
  page.family("perjoule_http_responses_total", MetricKind::kCounter, "Answers by their status.");
  for (const auto& [status, count] : router_->answers()) {
    page.sample({{"status", std::to_string(status)}}, static_cast<double>(count));
  }
  page.family("perjoule_live_listeners", MetricKind::kGauge, "Listeners of the live stream.");
  page.sample({}, static_cast<double>(node_->live().listeners()));
  page.family("perjoule_live_dropped_total", MetricKind::kCounter,
              "Listeners that lagged, and were ended.");
  page.sample({}, static_cast<double>(node_->live().dropped()));
  page.family("perjoule_audit_lost_total", MetricKind::kCounter,
              "Lines of the audit log that could not be written.");
  page.sample({}, static_cast<double>(router_->audit_lost()));
  if (leases_ != nullptr) add_lease_metrics(page, *leases_);
  if (zeusd_ != nullptr) {
    page.family("perjoule_zeusd_failed_total", MetricKind::kCounter,
                "What Zeus's clients set without waiting, and that failed.");
    page.sample({}, static_cast<double>(zeusd_->failed_unheard()));
  }
  page.family("perjoule_uptime_seconds", MetricKind::kGauge, "Since the daemon began.");
  page.sample({}, (clock_.now() - began_).value());
  return page.take();
}

Outcome Daemon::serve_tcp(FileDescriptor socket, const std::string& name, bool is_open) {
  HttpListener listener{.socket = std::move(socket), .name = is_open ? kOpen : kTcp};
  if (!is_open) listener.tls = options_.identity;
  const int port = port_of(listener.socket);
  const std::string scheme = listener.tls ? "https://" : "http://";
  PJ_CHECK(server_->serve(std::move(listener)));
  addresses_.push_back(scheme + name + ":" + std::to_string(port));
  return {};
}

Outcome Daemon::listen() {
  PJ_TRY(server_, HttpServer::create(*router_, options_.server));
  if (sockets_.local) {
    PJ_CHECK(server_->serve({.socket = sockets_.local->take(), .name = kLocal}));
    addresses_.push_back("unix:" + options_.socket);
  }
  for (const DaemonOptions::Tcp& one : options_.tcp) {
    PJ_TRY(FileDescriptor socket, listen_on_tcp(one.address, one.port));
    PJ_CHECK(serve_tcp(std::move(socket), host_text(one.address), false));
  }
  if (!options_.open_loopback) return {};
  PJ_TRY(LoopbackSockets both, listen_on_loopback(*options_.open_loopback));
  PJ_CHECK(serve_tcp(std::move(both.v4), "127.0.0.1", true));
  return both.v6.valid() ? serve_tcp(std::move(both.v6), "[::1]", true) : Outcome();
}

Outcome Daemon::stop(Seconds patience) {
  server_->stop_listening();
  node_->live().close();
  if (zeusd_ != nullptr) zeusd_->stop();
  const Instant until = clock_.now() + patience;
  const auto exchanges = [this] {
    return server_->exchanges() + (zeusd_ == nullptr ? 0 : zeusd_->exchanges());
  };
  while (exchanges() > 0 && clock_.now() < until) {
    clock_.sleep_until(clock_.now() + Seconds(0.02));
  }
  return leases_ == nullptr ? Outcome() : leases_->end_all();
}

Outcome Daemon::look_after() {
  router_->end_streams_of_others();
  if (options_.hand == nullptr || options_.hand->lives()) return {};
  return Error::unavailable("the knobs' helper has ended: what was leased may stay turned",
                            "start the daemon anew: it puts knobs back as they were found");
}

}  // namespace perjoule

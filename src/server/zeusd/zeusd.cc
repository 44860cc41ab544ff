#include "server/zeusd/zeusd.h"

#include <unistd.h>

#include "net/listen.h"
#include "server/http/openapi.h"
#include "server/zeusd/read_routes.h"

namespace perjoule {

Result<std::unique_ptr<Zeusd>> Zeusd::start(Node& node, LeaseBook* leases,
                                            std::shared_ptr<const Gate> gate, const Clock& clock,
                                            Options options, AuditLog audit) {
  std::unique_ptr<Zeusd> zeusd(new Zeusd(std::move(options)));
  Zeusd& its = *zeusd;
  const bool is_served = its.options_.socket.has_value();
  its.devices_ = ZeusdDevices::of(node.machine(), node.meter());
  its.streams_ = std::make_unique<PowerStreams>(its.devices_, node.meter(), clock, is_served);
  if (leases != nullptr) {
    its.held_ = std::make_unique<ProcessLeases>(*leases, clock, is_served);
    its.control_ = std::make_unique<ZeusdControl>(its.devices_, *its.held_);
  }
  its.router_ =
      std::make_unique<Router>(std::move(gate), clock, its.options_.limits, std::move(audit));
  PJ_CHECK(its.add_routes(node, clock));
  if (is_served) PJ_CHECK(its.listen());
  return zeusd;
}

Zeusd::~Zeusd() { server_.reset(); }

Outcome Zeusd::add_routes(Node& node, const Clock& clock) {
  router_->add(zeusd_info_routes(devices_, clock, control_ != nullptr));
  router_->add(zeusd_gpu_routes(devices_, node.meter(), *streams_));
  router_->add(zeusd_cpu_routes(devices_, node.meter(), *streams_));
  if (control_ != nullptr) router_->add(zeusd_control_routes(*control_));
  std::vector<Route> own;
  own.push_back(
      {.pattern = "/openapi.json",
       .role = Role::kNone,
       .summary = "This description",
       .answer = "openapi",
       .handle = [this](const Call&) -> Result<Reply> { return Reply{.body = openapi_}; }});
  router_->add(std::move(own));
  PJ_TRY(const Json document,
         openapi_document(router_->routes(), document_schemas(), options_.version));
  openapi_ = document.dump(2) + "\n";
  return {};
}

Outcome Zeusd::listen() {
  PJ_TRY(server_, HttpServer::create(*router_, options_.server));
  return server_->serve({.socket = options_.socket->take(), .name = "local"});
}

void Zeusd::stop() {
  if (server_ != nullptr) server_->stop_listening();
  streams_->close();
}

}  // namespace perjoule

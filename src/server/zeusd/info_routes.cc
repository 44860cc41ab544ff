#include "server/zeusd/read_routes.h"

namespace perjoule {
namespace {

Json gpus_json(const ZeusdDevices& devices) {
  Json gpus = Json::array();
  for (const auto& [id, gpu] : devices.gpus) {
    Json one = Json::object();
    one["id"] = id;
    one["name"] = gpu.device->info().name;
    one["pci_address"] = gpu.device->info().pci;
    one["cumulative_energy_available"] = gpu.energy != nullptr;
    gpus.push_back(std::move(one));
  }
  return gpus;
}

Json cpus_json(const ZeusdDevices& devices) {
  Json cpus = Json::array();
  for (const auto& [id, cpu] : devices.cpus) {
    Json one = Json::object();
    one["id"] = id;
    one["dram_available"] = cpu.dram != nullptr;
    cpus.push_back(std::move(one));
  }
  return cpus;
}

/// What who asks may do, in Zeus's words.
Json groups_of(const Principal& who, bool may_control) {
  Json groups = Json::array();
  if (may_control && who.role >= Role::kControl) groups.push_back("gpu-control");
  if (who.role >= Role::kRead) {
    groups.push_back("gpu-read");
    groups.push_back("cpu-read");
  }
  return groups;
}

Json discovery(const ZeusdDevices& devices, const Principal& who, bool may_control) {
  Json json = Json::object();
  json["gpus"] = gpus_json(devices);
  json["cpus"] = cpus_json(devices);
  // The same for clients of before 2026.
  json["gpu_ids"] = Json::array();
  for (const auto& [id, gpu] : devices.gpus) json["gpu_ids"].push_back(id);
  json["cpu_ids"] = Json::array();
  json["dram_available"] = Json::array();
  for (const auto& [id, cpu] : devices.cpus) {
    json["cpu_ids"].push_back(id);
    json["dram_available"].push_back(cpu.dram != nullptr);
  }
  json["enabled_api_groups"] = groups_of(who, may_control);
  json["auth_required"] = false;
  return json;
}

}  // namespace

std::vector<Route> zeusd_info_routes(const ZeusdDevices& devices, const Clock& clock,
                                     bool may_control) {
  std::vector<Route> routes;
  routes.push_back({.pattern = "/discover",
                    .role = Role::kNone,
                    .summary = "The devices, and what who asks may do",
                    .answer = "zeusd.discovery",
                    .handle = [&devices, may_control](const Call& call) -> Result<Reply> {
                      return Reply::json(discovery(devices, call.principal, may_control));
                    }});
  routes.push_back({.pattern = "/time",
                    .role = Role::kNone,
                    .summary = "This machine's time",
                    .answer = "zeusd.time",
                    .handle = [&clock](const Call&) -> Result<Reply> {
                      Json json = Json::object();
                      json["timestamp_ms"] = clock.unix_ns() / 1'000'000;
                      return Reply::json(json);
                    }});
  routes.push_back({.pattern = "/auth/whoami",
                    .summary = "Who asks, by a token or as the process's user",
                    .answer = "zeusd.whoami",
                    .handle = [may_control](const Call& call) -> Result<Reply> {
                      Json json = Json::object();
                      json["sub"] = call.principal.name;
                      json["scopes"] = groups_of(call.principal, may_control);
                      if (call.principal.expires_unix != 0)
                        json["exp"] = call.principal.expires_unix;
                      return Reply::json(json);
                    }});
  return routes;
}

}  // namespace perjoule

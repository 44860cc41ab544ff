#include <cmath>

#include "base/text.h"
#include "server/zeusd/read_routes.h"
#include "server/zeusd/zeusd_reply.h"

namespace perjoule {
namespace {

using Read = std::function<Result<Json>(const ZeusdGpu&)>;

Result<Json> read_one(const ZeusdDevices& devices, int id, const Read& read) {
  const auto found = devices.gpus.find(id);
  if (found != devices.gpus.end()) return read(found->second);
  return tl::unexpected<Error>(no_such_device("GPU", id, ids_of(devices.gpus)));
}

Json member(const char* name, const Json& value) {
  Json json = Json::object();
  json[name] = value;
  return json;
}

std::int64_t milli(double value) { return std::llround(value * 1e3); }

Result<Json> energy_of(const ZeusdGpu& gpu) {
  if (gpu.energy == nullptr) {
    return Error::not_supported(gpu.device->info().id + " does not tell its energy");
  }
  PJ_TRY(const std::uint64_t micro, energy_so_far(*gpu.energy));
  return member("energy_mj", micro / 1000);
}

Result<Knob*> power_limit_of(const ZeusdGpu& gpu) {
  if (gpu.power_limit != nullptr) return gpu.power_limit;
  return Error::not_supported(gpu.device->info().id + " has no power limit");
}

Result<Json> limit_of(const ZeusdGpu& gpu) {
  PJ_TRY(Knob* const knob, power_limit_of(gpu));
  PJ_TRY(const std::string value, knob->get());
  PJ_TRY(const Watts limit, parse_watts(value));
  return member("power_limit_mw", milli(limit.value()));
}

Result<Json> limits_of(const ZeusdGpu& gpu) {
  PJ_TRY(Knob* const knob, power_limit_of(gpu));
  Json json = member("min_power_limit_mw", milli(knob->info().minimum));
  json["max_power_limit_mw"] = milli(knob->info().maximum);
  return json;
}

Result<Json> persistence_of(const ZeusdGpu& gpu) {
  const auto persistence = gpu.device->state().persistence;
  if (persistence) return member("enabled", *persistence);
  return Error::not_supported(gpu.device->info().id + " has no persistence mode");
}

std::vector<RouteParameter> gpus_asked_for() {
  return {{"gpu_ids", RouteParameter::Kind::kText, "0,1; all where it is not given"}};
}

Route reading(const ZeusdDevices& devices, Meter& meter, const char* pattern, const char* summary,
              const char* answer, Read read) {
  return {.pattern = pattern,
          .summary = summary,
          .parameters = gpus_asked_for(),
          .answer = answer,
          .error = "zeusd.error",
          .is_slow = true,
          .handle = [&devices, &meter, read = std::move(read)](const Call& call) -> Result<Reply> {
            PJ_TRY(const std::set<int> ids, device_ids(call, "gpu_ids", ids_of(devices.gpus)));
            meter.notice_suspend();
            return read_each(ids, [&](int id) { return read_one(devices, id, read); });
          }};
}

Result<Reply> power(const ZeusdDevices& devices, Meter& meter, const Call& call) {
  PJ_TRY(const std::set<int> ids, device_ids(call, "gpu_ids", ids_of(devices.gpus)));
  meter.notice_suspend();
  return power_of_each(ids, meter.clock().unix_ns() / 1'000'000, [&](int id) {
    return read_one(devices, id, [](const ZeusdGpu& gpu) -> Result<Json> {
      PJ_TRY(const std::int64_t milliwatts, power_now(gpu));
      return Json(milliwatts);
    });
  });
}

Outcome stream(const ZeusdDevices& devices, PowerStreams& streams, const Call& call,
               std::shared_ptr<ServerExchange> exchange) {
  const std::set<int> known = ids_of(devices.gpus);
  PJ_TRY(std::set<int> ids, device_ids(call, "gpu_ids", known));
  for (const int id : ids) {
    if (known.count(id) == 0) return tl::unexpected<Error>(no_such_device("GPU", id, known));
  }
  return streams.join(PowerStreams::Of::kGpus, std::move(ids), std::move(exchange));
}

}  // namespace

std::vector<Route> zeusd_gpu_routes(const ZeusdDevices& devices, Meter& meter,
                                    PowerStreams& streams) {
  std::vector<Route> routes;
  routes.push_back(reading(devices, meter, "/gpu/get_cumulative_energy",
                           "Energy since the daemon began, mJ", "zeusd.gpu-energy", energy_of));
  routes.push_back({.pattern = "/gpu/get_power",
                    .summary = "Present power, mW",
                    .parameters = gpus_asked_for(),
                    .answer = "zeusd.gpu-power",
                    .error = "zeusd.error",
                    .is_slow = true,
                    .handle = [&](const Call& call) { return power(devices, meter, call); }});
  routes.push_back({.pattern = "/gpu/stream_power",
                    .summary = "Power of each GPU whenever it has changed, as server-sent events",
                    .parameters = gpus_asked_for(),
                    .error = "zeusd.error",
                    .stream =
                        [&](const Call& call, std::shared_ptr<ServerExchange> exchange) {
                          return stream(devices, streams, call, std::move(exchange));
                        },
                    .owner = &streams});
  routes.push_back(reading(devices, meter, "/gpu/get_power_limit", "The power limit asked for, mW",
                           "zeusd.power-limits", limit_of));
  routes.push_back(reading(devices, meter, "/gpu/get_power_limit_constraints",
                           "The power limits that it takes, mW", "zeusd.power-limit-ranges",
                           limits_of));
  routes.push_back(reading(devices, meter, "/gpu/get_persistence_mode",
                           "Whether its driver stays loaded without a client",
                           "zeusd.persistence-modes", persistence_of));
  return routes;
}

}  // namespace perjoule

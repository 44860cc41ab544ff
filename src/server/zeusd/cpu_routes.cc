#include "server/zeusd/read_routes.h"
#include "server/zeusd/zeusd_reply.h"

namespace perjoule {
namespace {

constexpr Seconds kMostWait{1};

std::vector<RouteParameter> cpus_asked_for() {
  return {{"cpu_ids", RouteParameter::Kind::kText, "0,1; all where it is not given"}};
}

Result<Json> energy_or_null(Channel* channel, bool wanted) {
  if (channel == nullptr || !wanted) return Json();
  PJ_TRY(const std::uint64_t micro, energy_so_far(*channel));
  return Json(micro);
}

Result<Reply> energy(const ZeusdDevices& devices, Meter& meter, const Call& call) {
  const std::set<int> known = ids_of(devices.cpus);
  PJ_TRY(const std::set<int> ids, device_ids(call, "cpu_ids", known));
  meter.notice_suspend();
  return read_each(ids, [&](int id) -> Result<Json> {
    const auto found = devices.cpus.find(id);
    if (found == devices.cpus.end()) return tl::unexpected<Error>(no_such_device("CPU", id, known));
    Json json = Json::object();
    PJ_TRY(json["cpu_energy_uj"], energy_or_null(found->second.package, is_true(call, "cpu")));
    PJ_TRY(json["dram_energy_uj"], energy_or_null(found->second.dram, is_true(call, "dram")));
    return json;
  });
}

/// A counter's power from `before` until it has moved.
Result<Json> power_since(Channel* channel, const Snapshot& before, const Clock& clock,
                         Instant until) {
  if (channel == nullptr) return Json();
  for (;;) {
    const Snapshot now = channel->read(false);
    if (now.code == ErrorCode::kOk && before.code == ErrorCode::kOk) {
      if (const auto milliwatts = milliwatts_between(before, now)) return Json(*milliwatts);
    }
    if (clock.now() >= until) break;
    clock.sleep_until(clock.now() + PowerStreams::kCpusEvery);
  }
  return Error::unavailable(channel->info().id + " does not move, or cannot be read");
}

Result<Reply> power(const ZeusdDevices& devices, Meter& meter, const Call& call) {
  const std::set<int> known = ids_of(devices.cpus);
  PJ_TRY(const std::set<int> ids, device_ids(call, "cpu_ids", known));
  const Clock& clock = meter.clock();
  meter.notice_suspend();
  const auto look = [](Channel* channel) {
    return channel == nullptr ? Snapshot() : channel->read(false);
  };
  std::map<int, std::pair<Snapshot, Snapshot>> before;
  for (const int id : ids) {
    const auto found = devices.cpus.find(id);
    if (found == devices.cpus.end()) continue;
    before[id] = {look(found->second.package), look(found->second.dram)};
  }
  clock.sleep_until(clock.now() + PowerStreams::kCpusEvery);
  const Instant until = clock.now() + kMostWait;
  return power_of_each(ids, clock.unix_ns() / 1'000'000, [&](int id) -> Result<Json> {
    const auto found = before.find(id);
    if (found == before.end()) return tl::unexpected<Error>(no_such_device("CPU", id, known));
    const ZeusdCpu& cpu = devices.cpus.at(id);
    Json json = Json::object();
    PJ_TRY(json["cpu_mw"], power_since(cpu.package, found->second.first, clock, until));
    PJ_TRY(json["dram_mw"], power_since(cpu.dram, found->second.second, clock, until));
    return json;
  });
}

Outcome stream(const ZeusdDevices& devices, PowerStreams& streams, const Call& call,
               std::shared_ptr<ServerExchange> exchange) {
  const std::set<int> known = ids_of(devices.cpus);
  PJ_TRY(std::set<int> ids, device_ids(call, "cpu_ids", known));
  for (const int id : ids) {
    if (known.count(id) == 0) return tl::unexpected<Error>(no_such_device("CPU", id, known));
  }
  return streams.join(PowerStreams::Of::kCpus, std::move(ids), std::move(exchange));
}

}  // namespace

std::vector<Route> zeusd_cpu_routes(const ZeusdDevices& devices, Meter& meter,
                                    PowerStreams& streams) {
  using Kind = RouteParameter::Kind;
  std::vector<Route> routes;
  std::vector<RouteParameter> parameters = cpus_asked_for();
  parameters.push_back({"cpu", Kind::kBoolean, "its package's", true});
  parameters.push_back({"dram", Kind::kBoolean, "its memory's", true});
  routes.push_back({.pattern = "/cpu/get_cumulative_energy",
                    .summary = "Energy since the daemon began, uJ",
                    .parameters = std::move(parameters),
                    .answer = "zeusd.cpu-energy",
                    .error = "zeusd.error",
                    .is_slow = true,
                    .handle = [&](const Call& call) { return energy(devices, meter, call); }});
  routes.push_back({.pattern = "/cpu/get_power",
                    .summary = "Power over the next tenth of a second, mW",
                    .parameters = cpus_asked_for(),
                    .answer = "zeusd.cpu-power",
                    .error = "zeusd.error",
                    .is_slow = true,
                    .handle = [&](const Call& call) { return power(devices, meter, call); }});
  routes.push_back({.pattern = "/cpu/stream_power",
                    .summary = "Power of each CPU whenever it has changed, as server-sent events",
                    .parameters = cpus_asked_for(),
                    .error = "zeusd.error",
                    .stream =
                        [&](const Call& call, std::shared_ptr<ServerExchange> exchange) {
                          return stream(devices, streams, call, std::move(exchange));
                        },
                    .owner = &streams});
  return routes;
}

}  // namespace perjoule

#include "server/zeusd/control_routes.h"

#include <cmath>
#include <future>
#include <set>

#include "base/text.h"
#include "server/zeusd/zeusd_reply.h"

namespace perjoule {
namespace {

using Holder = ProcessLeases::Holder;
using Kind = RouteParameter::Kind;

Error has_no(const ZeusdGpu& gpu, const char* what) {
  return {ErrorCode::kNotSupported, gpu.device->info().id + " has no " + what, {}};
}

bool is_default(const Knob& knob, double value) {
  const auto usual = leading_number(knob.info().default_value);
  return usual && std::abs(*usual - value) < 1e-6;
}

Outcome set_persistence(const ZeusdGpu& gpu, bool wanted) {
  const auto now = gpu.device->state().persistence;
  if (!now) return tl::unexpected<Error>(has_no(gpu, "persistence mode"));
  if (*now == wanted) return {};
  return Error::not_supported(
      "the persistence mode of " + gpu.device->info().id + " is " + (*now ? "on" : "off") +
          " and is not changed through this daemon: it would outlast every client",
      std::string("nvidia-smi -pm ") + (wanted ? "1" : "0") + " as root");
}

}  // namespace

Result<Holder> ZeusdControl::holder_of(const Call& call) const {
  const auto& process = call.request.peer.process;
  if (!process) {
    return Error::permission_denied("what is set here is held by a process of this machine",
                                    "come by the Unix socket");
  }
  return Holder{ProcessIdentity::of(process->pid),
                call.principal.name + "'s process " + std::to_string(process->pid)};
}

Reply ZeusdControl::act_on(const std::set<int>& ids, const Holder& holder, const Act& act) {
  std::map<int, Error> errors;
  for (const int id : ids) {
    const auto gpu = devices_.gpus.find(id);
    if (gpu == devices_.gpus.end()) {
      errors.emplace(id, no_such_device("GPU", id, ids_of(devices_.gpus)));
    } else if (const auto done = act(gpu->second, holder); !done) {
      errors.emplace(id, done.error());
    }
  }
  if (!errors.empty()) return errors_reply(errors);
  return {.content_type = "text/plain"};
}

Result<Reply> ZeusdControl::act(const Call& call, const Act& act) {
  const std::set<int> known = ids_of(devices_.gpus);
  PJ_TRY(const std::set<int> ids, device_ids(call, "gpu_ids", known));
  PJ_TRY(const Holder holder, holder_of(call));
  for (const int id : ids) {
    if (known.count(id) == 0) return errors_reply({{id, no_such_device("GPU", id, known)}});
  }
  const Error busy{ErrorCode::kUnavailable, "too much waits to be set", "ask again"};
  if (!is_true(call, "block")) {
    const bool taken = queue_.post([this, ids, holder, act] {
      if (act_on(ids, holder, act).status != 200) ++failed_;
    });
    if (!taken) return tl::unexpected<Error>(busy);
    return Reply{.content_type = "text/plain"};
  }
  const auto answer = std::make_shared<std::promise<Reply>>();
  std::future<Reply> answered = answer->get_future();
  if (!queue_.post([&, answer] { answer->set_value(act_on(ids, holder, act)); }))
    return tl::unexpected<Error>(busy);
  return answered.get();
}

Outcome ZeusdControl::set_power_limit(const ZeusdGpu& gpu, std::int64_t milliwatts,
                                      const Holder& holder) {
  Knob* const knob = gpu.power_limit;
  if (knob == nullptr) return tl::unexpected<Error>(has_no(gpu, "power limit"));
  const std::string& id = knob->info().id;
  const double watts = static_cast<double>(milliwatts) * 1e-3;
  const std::string value = exact(watts) + " W";
  PJ_CHECK(check_knob_value(knob->info(), value));
  // Zeus resets a limit by setting the default: whoever held it lets go, where it was found so.
  if (leases_.holds(id, holder) && is_default(*knob, watts)) {
    PJ_CHECK(leases_.let_go(id, holder));
    const auto found = knob->get();
    const auto now = found ? leading_number(*found) : std::nullopt;
    if (now && std::abs(*now - watts) < 1e-6) return {};
  }
  return leases_.hold(id, value, holder);
}

Outcome ZeusdControl::lock(Knob* knob, const ZeusdGpu& gpu, std::int64_t lowest_mhz,
                           std::int64_t highest_mhz, const Holder& holder) {
  if (knob == nullptr) return tl::unexpected<Error>(has_no(gpu, "such clock lock"));
  const std::string lowest = std::to_string(lowest_mhz) + " MHz";
  const std::string highest = std::to_string(highest_mhz) + " MHz";
  PJ_CHECK(check_knob_value(knob->info(), lowest));
  PJ_CHECK(check_knob_value(knob->info(), highest));
  const bool is_one = lowest_mhz == highest_mhz;
  return leases_.hold(knob->info().id, is_one ? lowest : std::to_string(lowest_mhz) + "-" + highest,
                      holder);
}

Outcome ZeusdControl::unlock(Knob* knob, const ZeusdGpu& gpu, const Holder& holder) {
  if (knob == nullptr) return tl::unexpected<Error>(has_no(gpu, "such clock lock"));
  return leases_.let_go(knob->info().id, holder);
}

namespace {

Route setting(ZeusdControl& control, const char* pattern, const char* summary,
              std::vector<RouteParameter> more,
              std::function<ZeusdControl::Act(const Call&)> act_of) {
  std::vector<RouteParameter> parameters = {
      {"gpu_ids", Kind::kText, "0,1", true},
      {"block", Kind::kBoolean, "whether to wait until it is done", true}};
  for (RouteParameter& one : more) parameters.push_back(std::move(one));
  return {.method = "POST",
          .pattern = pattern,
          .role = Role::kControl,
          .summary = summary,
          .parameters = std::move(parameters),
          .answer_type = "text/plain",
          .error = "zeusd.error",
          .is_slow = true,
          .handle = [&control, act_of = std::move(act_of)](const Call& call) {
            return control.act(call, act_of(call));
          }};
}

Route locking(ZeusdControl& control, const char* pattern, const char* summary,
              Knob* ZeusdGpu::*knob) {
  return setting(
      control, pattern, summary,
      {{"min_clock_mhz", Kind::kInteger, "", true}, {"max_clock_mhz", Kind::kInteger, "", true}},
      [&control, knob](const Call& call) -> ZeusdControl::Act {
        const std::int64_t lowest = *call.integer("min_clock_mhz");
        const std::int64_t highest = *call.integer("max_clock_mhz");
        return [=, &control](const ZeusdGpu& gpu, const Holder& holder) {
          return control.lock(gpu.*knob, gpu, lowest, highest, holder);
        };
      });
}

Route unlocking(ZeusdControl& control, const char* pattern, const char* summary,
                std::vector<Knob * ZeusdGpu::*> knobs) {
  return setting(control, pattern, summary, {},
                 [&control, knobs = std::move(knobs)](const Call&) -> ZeusdControl::Act {
                   return [&control, knobs](const ZeusdGpu& gpu, const Holder& holder) -> Outcome {
                     for (Knob* ZeusdGpu::*const knob : knobs) {
                       // Of all, those that there are.
                       if (knobs.size() > 1 && gpu.*knob == nullptr) continue;
                       PJ_CHECK(control.unlock(gpu.*knob, gpu, holder));
                     }
                     return {};
                   };
                 });
}

}  // namespace

std::vector<Route> zeusd_control_routes(ZeusdControl& control) {
  std::vector<Route> routes;
  routes.push_back(setting(control, "/gpu/set_power_limit",
                           "A power limit until the asking process ends",
                           {{"power_limit_mw", Kind::kInteger, "", true}},
                           [&control](const Call& call) -> ZeusdControl::Act {
                             const std::int64_t milliwatts = *call.integer("power_limit_mw");
                             return [=, &control](const ZeusdGpu& gpu, const Holder& holder) {
                               return control.set_power_limit(gpu, milliwatts, holder);
                             };
                           }));
  routes.push_back(setting(
      control, "/gpu/set_persistence_mode", "Nothing where it is so already; else refused",
      {{"enabled", Kind::kBoolean, "", true}}, [](const Call& call) -> ZeusdControl::Act {
        const bool wanted = is_true(call, "enabled");
        return [=](const ZeusdGpu& gpu, const Holder&) { return set_persistence(gpu, wanted); };
      }));
  routes.push_back(locking(control, "/gpu/set_gpu_locked_clocks",
                           "Locked graphics clocks until the asking process ends",
                           &ZeusdGpu::clock));
  routes.push_back(locking(control, "/gpu/set_mem_locked_clocks",
                           "Locked memory clocks until the asking process ends",
                           &ZeusdGpu::memory_clock));
  routes.push_back(unlocking(control, "/gpu/reset_gpu_locked_clocks",
                             "Graphics clocks as they were found", {&ZeusdGpu::clock}));
  routes.push_back(unlocking(control, "/gpu/reset_mem_locked_clocks",
                             "Memory clocks as they were found", {&ZeusdGpu::memory_clock}));
  routes.push_back(unlocking(control, "/gpu/reset_locked_clocks", "All clocks as they were found",
                             {&ZeusdGpu::clock, &ZeusdGpu::memory_clock}));
  return routes;
}

}  // namespace perjoule

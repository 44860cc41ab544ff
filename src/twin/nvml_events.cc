// Events: critical errors (Xid) that a fault has due.
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "twin/nvml_session.h"

namespace nvml = perjoule::nvml;
using namespace perjoule::twin;           // NOLINT: the exported C names live outside
using namespace perjoule::twin::standin;  // NOLINT

namespace {

constexpr std::uint64_t kEventXid = 0x8;
constexpr std::uint64_t kSupportedEvents = 0x8 | 0x10 | 0x80;
constexpr double kPollSeconds = 0.005;

struct Registration {
  int device = 0;
  std::uint64_t mask = 0;
  std::int64_t delivered_ns = -1;  // time of the last event handed out
};

struct EventList {
  std::vector<Registration> devices;
};

// Guards the list of sets, and each set.
std::mutex guard;
std::vector<std::unique_ptr<EventList>>& sets() {
  static auto* const all = new std::vector<std::unique_ptr<EventList>>;
  return *all;
}

EventList* find_set(nvml::EventSet set) {
  for (const auto& candidate : sets()) {
    if (candidate.get() == set) return candidate.get();
  }
  return nullptr;
}

// An event that has come and was not handed out yet.
bool take_event(ControlBlock& block, EventList& list, nvml::EventData* data) {
  const std::int64_t now = now_ns(block);
  for (Registration& entry : list.devices) {
    const DeviceFaults& faults = block.devices[entry.device].faults;
    if ((entry.mask & kEventXid) == 0 || faults.xid_at_ns < 0 || faults.xid_at_ns > now ||
        faults.xid_at_ns == entry.delivered_ns) {
      continue;
    }
    entry.delivered_ns = faults.xid_at_ns;
    *data = {handle_of(entry.device), kEventXid, faults.xid, 0xffffffffU, 0xffffffffU};
    return true;
  }
  return false;
}

// On a manual clock waiting moves time to the next due event, or by the whole time-out.
void move_clock_towards_event(ControlBlock& block, const EventList& list, std::int64_t until) {
  std::int64_t to = until;
  for (const Registration& entry : list.devices) {
    const std::int64_t at = block.devices[entry.device].faults.xid_at_ns;
    if (at >= now_ns(block) && at != entry.delivered_ns) to = std::min(to, at);
  }
  block.manual_now_ns = std::max(block.manual_now_ns, to);
}

}  // namespace

PJ_NVML nvmlEventSetCreate(nvml::EventSet* set) {
  if (current_world() == nullptr) return nvml::kUninitialized;
  if (set == nullptr) return nvml::kInvalidArgument;
  const std::lock_guard<std::mutex> hold(guard);
  sets().push_back(std::make_unique<EventList>());
  *set = sets().back().get();
  return nvml::kSuccess;
}

PJ_NVML nvmlEventSetFree(nvml::EventSet set) {
  const std::lock_guard<std::mutex> hold(guard);
  const auto found = std::find_if(sets().begin(), sets().end(),
                                  [set](const auto& candidate) { return candidate.get() == set; });
  if (found == sets().end()) return nvml::kInvalidArgument;
  sets().erase(found);
  return nvml::kSuccess;
}

PJ_NVML nvmlDeviceGetSupportedEventTypes(Device device, unsigned long long* mask) {
  return answer(__func__, device, mask, [](const Call&) { return kSupportedEvents; });
}

PJ_NVML nvmlDeviceRegisterEvents(Device device, unsigned long long mask, nvml::EventSet set) {
  return device_call(__func__, device, [&](const Call& call) {
    const std::lock_guard<std::mutex> hold(guard);
    EventList* const list = find_set(set);
    if (list == nullptr || mask == 0) return nvml::kInvalidArgument;
    if ((mask & ~kSupportedEvents) != 0) return nvml::kNotSupported;
    list->devices.push_back({call.handle.device, mask, -1});
    return nvml::kSuccess;
  });
}

PJ_NVML nvmlEventSetWait_v2(nvml::EventSet set, nvml::EventData* data, unsigned timeout_ms) {
  World* const world = current_world();
  if (world == nullptr) return nvml::kUninitialized;
  if (data == nullptr) return nvml::kInvalidArgument;
  ControlBlock& block = world->mapping().block();
  perjoule::RealClock clock;
  std::int64_t until = -1;
  for (;;) {
    {
      ControlLock lock(block);
      const std::lock_guard<std::mutex> hold(guard);
      EventList* const list = find_set(set);
      if (list == nullptr) return nvml::kInvalidArgument;
      if (until < 0) until = now_ns(block) + timeout_ms * kNsPerMs;
      if (take_event(block, *list, data)) return nvml::kSuccess;
      if (now_ns(block) >= until) return nvml::kTimeout;
      if (block.mode == ClockMode::kManual) {
        move_clock_towards_event(block, *list, until);
        continue;
      }
    }
    clock.sleep_until(clock.now() + perjoule::Seconds(kPollSeconds));
  }
}
PJ_NVML nvmlEventSetWait(nvml::EventSet set, nvml::EventData* data, unsigned timeout_ms) {
  return nvmlEventSetWait_v2(set, data, timeout_ms);
}

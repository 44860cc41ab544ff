#include "twin/nvml_session.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"

namespace perjoule::twin::standin {
namespace {

constexpr int kSlices = 8;  // MIG instances have indices 0 to 7

// One a process, as the interface demands: calls find it without any argument of ours.
struct Session {
  std::mutex guard;  // of users and world
  int users = 0;
  std::optional<World> world;
  std::atomic<World*> current{nullptr};
  Handle handles[kMaxDevices][1 + kSlices];
};

Session& session() {
  static Session* const one = new Session;  // never torn down: clients call from exit handlers
  return *one;
}

void enter_client(ControlBlock& block) {
  ControlLock lock(block);
  for (int& pid : block.clients) {
    if (pid != 0 && kill(pid, 0) != 0 && errno == ESRCH) pid = 0;
  }
  int* const free_place = std::find(std::begin(block.clients), std::end(block.clients), 0);
  if (free_place != std::end(block.clients)) *free_place = static_cast<int>(getpid());
}

// When the last client goes and persistence is off, the driver unloads and forgets its settings.
void leave_client(ControlBlock& block) {
  ControlLock lock(block);
  bool others = false;
  for (int& pid : block.clients) {
    if (pid == static_cast<int>(getpid())) pid = 0;
    others = others || (pid != 0 && (kill(pid, 0) == 0 || errno != ESRCH));
  }
  for (int i = 0; i < block.device_count && !others; ++i) {
    DeviceBlock& device = block.devices[i];
    if (device.persistence != 0) continue;
    catch_up(block, device, Until::kNow);
    device.limit_w = device.limit_default_w;
    device.requested_profiles = 0;
    device.locked_min_mhz = device.locked_max_mhz = device.application_mhz = 0;
  }
}

bool matches(const CallFault& fault, const char* call, int device, std::int64_t now) {
  return fault.left != 0 && (fault.device < 0 || fault.device == device) && now >= fault.from_ns &&
         (fault.until_ns < 0 || now < fault.until_ns) &&
         (std::strcmp(fault.call, "*") == 0 || std::strcmp(fault.call, call) == 0);
}

}  // namespace

Return Call::may_set() const {
  if (is_slice()) return nvml::kNotSupported;
  const bool denied = device.faults.setters_denied || !world.mapping().may_administer();
  return denied ? nvml::kNoPermission : nvml::kSuccess;
}

Return initialise() {
  Session& s = session();
  const std::lock_guard<std::mutex> hold(s.guard);
  if (s.users == 0) {
    auto world = World::open_from_environment();
    if (!world) return nvml::kDriverNotLoaded;
    s.world.emplace(std::move(*world));
    enter_client(s.world->mapping().block());
    for (int d = 0; d < kMaxDevices; ++d) {
      for (int i = 0; i <= kSlices; ++i) s.handles[d][i] = {d, i - 1};
    }
    s.current = &*s.world;
  }
  ++s.users;
  return nvml::kSuccess;
}

Return shut_down() {
  Session& s = session();
  const std::lock_guard<std::mutex> hold(s.guard);
  if (s.users == 0) return nvml::kUninitialized;
  if (--s.users == 0) {
    leave_client(s.world->mapping().block());
    s.current = nullptr;
    s.world.reset();
  }
  return nvml::kSuccess;
}

World* current_world() { return session().current.load(std::memory_order_acquire); }

Device handle_of(int device, int slice) { return &session().handles[device][slice + 1]; }

const Handle* find_handle(Device device) {
  const Handle* const first = &session().handles[0][0];
  const auto* const handle = static_cast<const Handle*>(device);
  const World* const world = current_world();
  if (handle < first || handle >= first + kMaxDevices * (1 + kSlices) || world == nullptr ||
      handle->device >= world->device_count()) {
    return nullptr;
  }
  return handle;
}

Return strike(ControlBlock& block, ControlLock& lock, const char* call, int device) {
  const std::int64_t lost_at = device < 0 ? -1 : block.devices[device].faults.lost_at_ns;
  if (lost_at < 0 && block.call_fault_count == 0) return nvml::kSuccess;
  const std::int64_t now = now_ns(block);
  Return code = lost_at >= 0 && now >= lost_at ? nvml::kGpuIsLost : nvml::kSuccess;
  std::int64_t delay_ns = 0;
  for (int i = 0; i < block.call_fault_count; ++i) {
    CallFault& fault = block.call_faults[i];
    if (!matches(fault, call, device, now)) continue;
    if (fault.left > 0) --fault.left;
    delay_ns += fault.delay_ns;
    if (fault.code != 0) code = fault.code;
  }
  if (delay_ns > 0 && block.mode == ClockMode::kManual) block.manual_now_ns += delay_ns;
  if (delay_ns > 0 && block.mode == ClockMode::kReal) {
    lock.release();
    RealClock clock;
    clock.sleep_until(clock.now() + Seconds(static_cast<double>(delay_ns) * 1e-9));
    lock.acquire();
  }
  return code;
}

Return copy_text(const char* text, char* into, unsigned length) {
  if (into == nullptr) return nvml::kInvalidArgument;
  const std::size_t bytes = std::strlen(text) + 1;
  if (bytes > length) return nvml::kInsufficientSize;
  std::memcpy(into, text, bytes);
  return nvml::kSuccess;
}

Return copy_numbers(const unsigned* numbers, unsigned count, unsigned* capacity, unsigned* into) {
  if (capacity == nullptr) return nvml::kInvalidArgument;
  const bool fits = into != nullptr && *capacity >= count;
  *capacity = count;
  if (!fits) return nvml::kInsufficientSize;
  std::copy(numbers, numbers + count, into);
  return nvml::kSuccess;
}

Return unsupported(const char* name, Device device) {
  return any_device_call(name, device, [](const Call&) { return nvml::kNotSupported; });
}

unsigned milliwatts(double watts) {
  return static_cast<unsigned>(std::lround(std::max(0.0, watts) * 1e3));
}

}  // namespace perjoule::twin::standin

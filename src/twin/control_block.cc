#include "twin/control_block.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "twin/power_profile.h"

namespace perjoule::twin {
namespace {

Outcome make_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int failed = pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  if (failed != 0) return Error::from_errno(failed, "cannot make the twin's lock");
  return {};
}

Result<void*> map(int fd, std::size_t bytes, const std::string& path) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return Error::from_errno(errno, "cannot map " + path);
  return memory;
}

}  // namespace

Result<ControlMapping> ControlMapping::create(const std::string& path, std::uint64_t replay_total) {
  const FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return Error::from_errno(errno, "cannot create " + path);
  const std::size_t bytes = sizeof(ControlBlock) + replay_total * sizeof(ReplaySample);
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return Error::from_errno(errno, "cannot size " + path);
  }
  PJ_TRY(void* const memory, map(fd.get(), bytes, path));
  auto* block = new (memory) ControlBlock;
  ControlMapping mapping(block, bytes, geteuid());
  PJ_CHECK(make_mutex(block->mutex));
  const RealClock clock;
  block->created_ns = clock.now().ns;
  block->created_unix_ns = clock.unix_ns();
  block->version = kVersion;
  block->size = sizeof(ControlBlock);
  block->replay_total = replay_total;
  block->magic = kMagic;
  return mapping;
}

Result<ControlMapping> ControlMapping::open(const std::string& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(errno, "cannot open the twin's " + path);
  struct stat status = {};
  if (fstat(fd.get(), &status) != 0) return Error::from_errno(errno, "cannot size " + path);
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes < sizeof(ControlBlock)) return Error::data_loss("no twin lives in " + path);
  PJ_TRY(void* const memory, map(fd.get(), bytes, path));
  ControlMapping mapping(static_cast<ControlBlock*>(memory), bytes, status.st_uid);
  const ControlBlock& block = mapping.block();
  if (block.magic != kMagic) return Error::data_loss("no twin lives in " + path);
  if (block.version != kVersion || block.size != sizeof(ControlBlock) ||
      bytes != sizeof(ControlBlock) + block.replay_total * sizeof(ReplaySample)) {
    return Error::conflict("the twin in " + path + " is of another version",
                           "start it with the same perjoule as the stand-in library");
  }
  return mapping;
}

ControlMapping::ControlMapping(ControlMapping&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)), bytes_(other.bytes_), maker_(other.maker_) {}

bool ControlMapping::may_administer() const {
  const uid_t user = geteuid();
  return user == 0 || user == maker_;
}

ControlMapping& ControlMapping::operator=(ControlMapping&& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(bytes_, other.bytes_);
  std::swap(maker_, other.maker_);
  return *this;
}

ControlMapping::~ControlMapping() {
  if (block_ != nullptr) munmap(block_, bytes_);
}

ControlLock::ControlLock(ControlBlock& block) : block_(block) { acquire(); }

ControlLock::~ControlLock() { release(); }

void ControlLock::acquire() {
  // The last owner died while holding it: each step of the simulation leaves the block usable.
  if (pthread_mutex_lock(&block_.mutex) == EOWNERDEAD) pthread_mutex_consistent(&block_.mutex);
}

void ControlLock::release() { pthread_mutex_unlock(&block_.mutex); }

std::int64_t now_ns(const ControlBlock& block) {
  if (block.mode == ClockMode::kManual) return block.manual_now_ns;
  const std::int64_t real = RealClock().now().ns - block.created_ns;
  return block.speed == 1 ? real
                          : static_cast<std::int64_t>(static_cast<double>(real) * block.speed);
}

std::int64_t unix_ns(const ControlBlock& block, std::int64_t simulated_ns) {
  return block.created_unix_ns + simulated_ns;
}

Controls controls_of(const DeviceBlock& device) {
  const ProfileEffect profile = profile_effect(device.requested_profiles);
  return {.cap_w = enforced_limit_w(device) * profile.cap_share,
          .ceiling_mhz = ceiling_mhz(device),
          .window_ms = device.cap_window_ms,
          .context = device.processes[0].pid != 0};
}

void catch_up(ControlBlock& block, DeviceBlock& device, Until until) {
  std::int64_t to = now_ns(block);
  if (until == Until::kMillisecond) to -= to % kNsPerMs;
  if (device.replay_count > 0 || to <= device.simulation.now_ns) return;
  SensorTicks ticks(device.sensor, device.faults.sensor, device.shown);
  advance(device.simulation, device.silicon, controls_of(device), to, &ticks);
  // Only now: the time since the last look was its process's still, as far as anybody can tell. It
  // is the watch that dates an end, whoever looks (process_watch.h).
  drop_dead_processes(device);
}

void move_to_end(ControlBlock& block, DeviceBlock& device, std::uint64_t ticket) {
  if (block.mode != ClockMode::kManual || device.simulation.ended_ticket >= ticket) return;
  SensorTicks ticks(device.sensor, device.faults.sensor, device.shown);
  advance(device.simulation, device.silicon, controls_of(device),
          std::numeric_limits<std::int64_t>::max(), &ticks, ticket);
  block.manual_now_ns = std::max(block.manual_now_ns, device.simulation.now_ns);
  for (int i = 0; i < block.device_count; ++i) catch_up(block, block.devices[i], Until::kNow);
}

double enforced_limit_w(const DeviceBlock& device) {
  const double out_of_band = device.faults.out_of_band_cap_w;
  return out_of_band > 0 ? std::min(device.limit_w, out_of_band) : device.limit_w;
}

double ceiling_mhz(const DeviceBlock& device) {
  double ceiling =
      device.silicon.clock_max_mhz * profile_effect(device.requested_profiles).ceiling_share;
  if (device.locked_max_mhz > 0) ceiling = std::min(ceiling, device.locked_max_mhz);
  if (device.application_mhz > 0) ceiling = std::min(ceiling, device.application_mhz);
  return std::max(ceiling, device.silicon.clock_min_mhz);
}

void attach_process(DeviceBlock& device, int pid, std::uint64_t memory_bytes) {
  drop_dead_processes(device);
  for (ProcessBlock& process : device.processes) {
    if (process.pid != pid && process.pid != 0) continue;
    process.pid = pid;
    process.memory_bytes = std::max(process.memory_bytes, memory_bytes);
    return;
  }
}

void drop_dead_processes(DeviceBlock& device) {
  ProcessBlock* const end = device.processes + kMaxProcesses;
  ProcessBlock* const live = std::remove_if(device.processes, end, [](const ProcessBlock& process) {
    return process.pid == 0 || (kill(process.pid, 0) != 0 && errno == ESRCH);
  });
  std::fill(live, end, ProcessBlock{});
}

}  // namespace perjoule::twin

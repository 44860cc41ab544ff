#include "twin/process_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/file.h"

namespace perjoule::twin {

bool has_ended(int pid) {
  const FileDescriptor fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // Where a container forbids descriptors of processes, zombies are taken for alive.
  if (!fd.valid()) return errno == ESRCH || (::kill(pid, 0) != 0 && errno == ESRCH);
  pollfd watched{fd.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

void release_ended(World& world) {
  const ControlBlock& block = world.mapping().block();
  for (int i = 0; i < block.device_count; ++i) {
    for (const ProcessBlock& process : block.devices[i].processes) {
      // Read without the lock: a number that has just changed is looked at again next time.
      const int pid = process.pid;
      if (pid != 0 && has_ended(pid)) (void)world.detach(i, pid);
    }
  }
}

void watch_processes(const std::stop_token& stop, World& world) {
  const RealClock clock;
  while (!stop.stop_requested()) {
    clock.sleep_until(clock.now() + kWatchPeriod);
    release_ended(world);
  }
}

}  // namespace perjoule::twin

#include "server/daemon/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"

namespace perjoule {

ServiceManager ServiceManager::find() {
  ServiceManager manager;
  manager.socket_ = environment("NOTIFY_SOCKET");
  ::unsetenv("NOTIFY_SOCKET");
  return manager;
}

void ServiceManager::reloading() const {
  // systemd wants to know when, to tell this from an earlier one.
  const std::int64_t micro = RealClock().now().ns / 1000;
  tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(micro));
}

/// One datagram, as sd_notify(3) describes it; a first "@" stands for an abstract address.
void ServiceManager::tell(const std::string& state) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = 0;
  const FileDescriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  if (!fd.valid()) return;
  (void)::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace perjoule

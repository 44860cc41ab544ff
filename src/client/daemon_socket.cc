#include "client/daemon_socket.h"

#include <unistd.h>

#include "base/file.h"

namespace perjoule {
namespace {

constexpr const char* kMachineSocket = "/run/perjoule/perjoule.sock";

}  // namespace

std::string own_socket_path() {
  std::string told = environment("PERJOULE_SOCKET");
  if (!told.empty()) return told;
  if (::geteuid() == 0) return kMachineSocket;
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  return runtime.empty() ? state_folder() + "/perjoule.sock" : runtime + "/perjoule/perjoule.sock";
}

std::vector<std::string> daemon_socket_paths() {
  const std::string own = own_socket_path();
  if (!environment("PERJOULE_SOCKET").empty() || own == kMachineSocket) return {own};
  return {kMachineSocket, own};
}

}  // namespace perjoule

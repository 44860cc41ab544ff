// Where the daemon of this machine is found.
#pragma once

#include <string>
#include <vector>

namespace perjoule {

/// Where a daemon of this user listens: PERJOULE_SOCKET, else /run/perjoule/perjoule.sock for root,
/// else perjoule/perjoule.sock in $XDG_RUNTIME_DIR, else perjoule.sock in the state folder.
std::string own_socket_path();

/// Where clients look, in this order: PERJOULE_SOCKET alone where it is set; else the machine's
/// (/run/perjoule/perjoule.sock), then the user's own.
std::vector<std::string> daemon_socket_paths();

}  // namespace perjoule

// For tests: a client that writes and reads bytes as they are.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace perjoule {

/// Not valid where nobody listens.
inline FileDescriptor connect_to(int port, bool ipv6 = false) {
  FileDescriptor fd(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0));
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  v6.sin6_addr = in6addr_loopback;
  const int connected =
      ipv6 ? ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&v6), sizeof v6)
           : ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  return connected == 0 ? std::move(fd) : FileDescriptor();
}

inline void write_all(const FileDescriptor& fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Until the other side closes.
inline std::string read_to_end(const FileDescriptor& fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(n));
  }
  return all;
}

inline FileDescriptor connect_to_unix(const std::string& path) {
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  const int connected =
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return connected == 0 ? std::move(fd) : FileDescriptor();
}

}  // namespace perjoule

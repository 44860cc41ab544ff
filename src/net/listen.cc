#include "net/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace perjoule {
namespace {

constexpr int kPortTries = 16;

struct Address {
  sockaddr_storage bytes = {};
  socklen_t length = 0;
};

std::optional<Address> numeric_address(const std::string& text, int port) {
  Address address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.bytes);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    address.length = sizeof v4;
    return address;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.bytes);
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  address.length = sizeof v6;
  return address;
}

Result<FileDescriptor> make_socket(int family) {
  FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Error::from_errno(errno, "cannot make a socket");
  return fd;
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error::invalid_argument("a socket's path is from 1 to 107 bytes long: " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// 0 where somebody does, else why not.
Result<int> try_to_connect(const sockaddr_un& address) {
  PJ_TRY(const FileDescriptor probe, make_socket(AF_UNIX));
  const bool connected =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  // One whose queue is full lives.
  return connected || errno == EAGAIN ? 0 : errno;
}

/// Removes the file where it is a socket that nobody listens at.
Outcome remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) {
    return Error::conflict("cannot listen at " + path + ": it is no socket",
                           "remove it, or choose another path");
  }
  PJ_TRY(const int status, try_to_connect(address));
  if (status == 0) {
    return Error::conflict("a server listens at " + path + " already",
                           "end it, or choose another path");
  }
  if (status != ECONNREFUSED) return Error::from_errno(status, "cannot look at " + path);
  if (::unlink(path.c_str()) != 0) return Error::from_errno(errno, "cannot remove " + path);
  return {};
}

}  // namespace

Result<FileDescriptor> listen_on_tcp(const std::string& address, int port) {
  const auto numeric = numeric_address(address, port);
  if (!numeric) return Error::invalid_argument("not an address to listen on: " + address);
  PJ_TRY(FileDescriptor fd, make_socket(numeric->bytes.ss_family));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (numeric->bytes.ss_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&numeric->bytes), numeric->length) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0) {
    const int number = errno;
    const std::string what = "cannot listen on port " + std::to_string(port);
    if (number == EADDRINUSE) {
      return Error::unavailable(what + ": it is in use", "choose another, or 0 for any");
    }
    return Error::from_errno(number, what + " of " + address);
  }
  return fd;
}

Result<LoopbackSockets> listen_on_loopback(int port) {
  const bool has_ipv6 = listen_on_tcp("::1", 0).has_value();
  // A port that is free on one address may be taken on the other.
  for (int left = kPortTries;; --left) {
    LoopbackSockets both;
    PJ_TRY(both.v4, listen_on_tcp("127.0.0.1", port));
    both.port = port_of(both.v4);
    if (!has_ipv6) return both;
    auto v6 = listen_on_tcp("::1", both.port);
    if (v6) {
      both.v6 = std::move(*v6);
      return both;
    }
    if (port != 0 || left == 0) return fail(v6);
  }
}

UnixSocket::UnixSocket(std::string path, FileDescriptor socket)
    : path_(std::move(path)), socket_(std::move(socket)) {
  struct stat found {};
  if (::lstat(path_.c_str(), &found) != 0) return;
  device_ = found.st_dev;
  inode_ = found.st_ino;
}

UnixSocket::~UnixSocket() {
  struct stat found {};
  // A moved-from one has no path. The socket is closed first: a server that comes meanwhile sees it
  // dead, and takes the file's place.
  socket_.reset();
  if (path_.empty() || ::lstat(path_.c_str(), &found) != 0) return;
  if (found.st_dev != device_ || found.st_ino != inode_) return;
  // The number may have been given to another file since.
  const auto address = unix_address(path_);
  const auto status = address ? try_to_connect(*address) : Result<int>(0);
  if (status && *status == ECONNREFUSED) ::unlink(path_.c_str());
}

Result<UnixSocket> listen_on_unix(const std::string& path, mode_t mode) {
  PJ_TRY(const sockaddr_un address, unix_address(path));
  PJ_CHECK(remove_stale(path, address));
  PJ_TRY(FileDescriptor fd, make_socket(AF_UNIX));
  // The file comes into being with no right for anyone else, and gets its mode before it is
  // listened at.
  const mode_t found = ::umask(0177);
  const int bound =
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                         : errno;
  ::umask(found);
  if (bound != 0) return Error::from_errno(bound, "cannot listen at " + path);
  if (::chmod(path.c_str(), mode) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    return Error::from_errno(errno, "cannot listen at " + path);
  }
  return UnixSocket(path, std::move(fd));
}

int port_of(const FileDescriptor& socket) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  }
  return 0;
}

}  // namespace perjoule

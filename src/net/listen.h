// Sockets that listen, for servers.
//
//   PJ_TRY(LoopbackSockets both, listen_on_loopback(0));             // 127.0.0.1 and ::1
//   PJ_TRY(FileDescriptor tcp, listen_on_tcp("0.0.0.0", 8470));
//   PJ_TRY(UnixSocket local, listen_on_unix("/run/perjoule/perjoule.sock", 0660));
//
// None blocks, none is inherited by programs that are run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/result.h"

namespace perjoule {

struct LoopbackSockets {
  FileDescriptor v4;
  FileDescriptor v6;  ///< not valid on a machine without ::1
  int port = 0;
};

/// Both addresses on one port; 0 is any that is free on both. unavailable for a port that is taken,
/// permission_denied for one that only root may have.
Result<LoopbackSockets> listen_on_loopback(int port);

/// An address of this machine, "::" or "0.0.0.0" for all. invalid_argument for what is no numeric
/// address, else as above.
Result<FileDescriptor> listen_on_tcp(const std::string& address, int port);

/// A Unix socket and its file, which is taken away with it: if it is still the one that was made,
/// for another server may have taken its place.
class UnixSocket {
 public:
  UnixSocket(std::string path, FileDescriptor socket);
  UnixSocket(UnixSocket&& other) noexcept = default;
  UnixSocket& operator=(UnixSocket&&) = delete;
  ~UnixSocket();

  const std::string& path() const { return path_; }
  /// The socket, to be served; the file stays ours.
  FileDescriptor take() { return std::move(socket_); }

 private:
  std::string path_;
  FileDescriptor socket_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

/// A file, made with that mode. One that a server which has ended left behind is replaced; conflict
/// where a server lives behind it, or it is no socket. invalid_argument where the path is longer
/// than the system takes (107 bytes).
Result<UnixSocket> listen_on_unix(const std::string& path, mode_t mode);

/// The port of a TCP socket that listens; 0 for others.
int port_of(const FileDescriptor& socket);

}  // namespace perjoule

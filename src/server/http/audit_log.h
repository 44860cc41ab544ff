// Who changed what, and who was refused: a line of JSON a request, appended.
//
//   {"at":"2026-11-30 21:00:00","who":"user:1000","role":"control","by":"local","from":"pid 4711",
//    "request":"POST /api/v1/leases","status":201}
//
// Times are UTC. A line is one write to a file opened for appending, so that lines of several
// processes do not mix. A disk that is full takes no request down: what could not be written is
// counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "net/http_server.h"
#include "server/http/principal.h"

namespace perjoule {

class AuditLog {
 public:
  /// Keeps nothing.
  AuditLog() = default;
  /// Appends to that file, made for its owner and group alone.
  static Result<AuditLog> open(const std::string& path);
  AuditLog(AuditLog&& other) noexcept;
  AuditLog& operator=(AuditLog&&) = delete;

  void add(std::int64_t unix_ns, const Principal& who, const ServerRequest& request, int status);
  /// Lines that were lost.
  std::uint64_t lost() const { return lost_.load(); }

 private:
  FileDescriptor file_;
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace perjoule

#include "server/http/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/json.h"
#include "base/utc_text.h"

namespace perjoule {
namespace {

std::string origin_of(const HttpPeer& peer) {
  return peer.process ? "pid " + std::to_string(peer.process->pid) : peer.address;
}

}  // namespace

AuditLog::AuditLog(AuditLog&& other) noexcept
    : file_(std::move(other.file_)), lost_(other.lost_.load()) {}

Result<AuditLog> AuditLog::open(const std::string& path) {
  AuditLog log;
  log.file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!log.file_.valid()) return Error::from_errno(errno, "cannot write the audit log " + path);
  return log;
}

void AuditLog::add(std::int64_t unix_ns, const Principal& who, const ServerRequest& request,
                   int status) {
  if (!file_.valid()) return;
  Json line = Json::object();
  line["at"] = utc_text(unix_ns);
  line["who"] = who.name;
  line["role"] = name_of(who.role);
  line["by"] = request.peer.listener;
  line["from"] = origin_of(request.peer);
  line["request"] = request.method + " " + request.target;
  line["status"] = status;
  const std::string text = line.dump() + "\n";
  const ssize_t written = ::write(file_.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) ++lost_;
}

}  // namespace perjoule

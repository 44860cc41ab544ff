// Who asks the daemon, and what he may.
//
//   Gate gate({.tokens = tokens, .listeners = {{"local", {.by_process = true}}}});
//   PJ_TRY(const Principal who, gate.admit(request, unix_seconds));
//   if (who.role < Role::kControl) ...
//
// One place decides, from the listener a request came by: on a Unix socket by the process's user
// and group, on TCP by a bearer token; on an open listener (this machine's demos) everybody may
// read, as long as the Host field names this machine, so that no page of another's site reads it
// through a browser whose name server it owns.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_server.h"

namespace perjoule {

/// Each may what those before it may.
enum class Role { kNone, kRead, kControl, kAdmin };

std::string_view name_of(Role role);  ///< "none", "read", "control", "admin"
Result<Role> parse_role(std::string_view text);

struct Principal {
  std::string name;  ///< "token:grafana", "user:1000", "anyone"
  Role role = Role::kNone;
  std::int64_t expires_unix = 0;  ///< of his token; 0: never
};

/// A token, of which only its SHA-256 is kept.
struct TokenRecord {
  std::string name;
  Role role = Role::kRead;
  std::string sha256;             ///< 64 hexadecimal digits
  std::int64_t expires_unix = 0;  ///< 0: never
};

/// What the users and groups of this machine may on a Unix socket. The user the daemon runs as and
/// root are admins; whoever is not named has `others`.
struct LocalRoles {
  std::map<std::uint32_t, Role> users = {};
  std::map<std::uint32_t, Role> groups = {};  ///< of the process's main group
  Role others = Role::kRead;
};

struct GateRules {
  std::vector<TokenRecord> tokens = {};
  LocalRoles local = {};
  std::set<std::string> open_listeners = {};  ///< names of those that let anyone read
  std::uint32_t own_uid = 0;
};

class Gate {
 public:
  explicit Gate(GateRules rules) : rules_(std::move(rules)) {}

  /// The principal, of role none where the request names nobody. permission_denied, in words for
  /// the client, for a token that is not known or has expired.
  Result<Principal> admit(const ServerRequest& request, std::int64_t unix_seconds) const;

 private:
  Result<Principal> by_token(std::string_view token, std::int64_t unix_seconds) const;

  const GateRules rules_;
};

/// Whether a Host field names the loopback of the machine it is read on.
bool names_this_machine(std::string_view host);

/// SHA-256 as 64 hexadecimal digits. Needs OpenSSL's library: its errors.
Result<std::string> sha256_hex(std::string_view text);

}  // namespace perjoule

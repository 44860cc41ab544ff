#include "server/http/principal.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "net/openssl.h"

namespace perjoule {
namespace {

constexpr std::string_view kBearer = "bearer ";

/// Of equal lengths; in a time that says nothing of where they differ.
bool same_digest(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    differ |= static_cast<unsigned>(a[i]) ^ static_cast<unsigned>(b[i]);
  }
  return differ == 0;
}

std::optional<Role> role_in(const std::map<std::uint32_t, Role>& roles, std::uint32_t id) {
  const auto found = roles.find(id);
  return found == roles.end() ? std::nullopt : std::optional(found->second);
}

Principal by_process(const HttpPeer::Process& process, const GateRules& rules) {
  Principal who{.name = "user:" + std::to_string(process.uid), .role = rules.local.others};
  if (process.uid == 0 || process.uid == rules.own_uid) {
    who.role = Role::kAdmin;
  } else {
    // What is said of a user stands before what is said of his group, and that before the rest.
    const auto of_group = role_in(rules.local.groups, process.gid);
    who.role = role_in(rules.local.users, process.uid).value_or(of_group.value_or(who.role));
  }
  return who;
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kNone:
      return "none";
    case Role::kRead:
      return "read";
    case Role::kControl:
      return "control";
    case Role::kAdmin:
      return "admin";
  }
  return "none";
}

Result<Role> parse_role(std::string_view text) {
  for (const Role role : {Role::kNone, Role::kRead, Role::kControl, Role::kAdmin}) {
    if (text == name_of(role)) return role;
  }
  return Error::invalid_argument("no role: " + std::string(text),
                                 "there are none, read, control and admin");
}

bool names_this_machine(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    host = host.substr(0, colon);
  }
  return equals_ignoring_case(host, "localhost") || host == "127.0.0.1" || host == "[::1]";
}

Result<std::string> sha256_hex(std::string_view text) {
  PJ_CHECK(open_openssl());
  unsigned char digest[EVP_MAX_MD_SIZE];
  std::size_t length = 0;
  if (openssl().EVP_Q_digest(nullptr, "SHA256", nullptr, text.data(), text.size(), digest,
                             &length) != 1) {
    return Error::internal("OpenSSL computes no SHA-256");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (std::size_t i = 0; i < length; ++i) {
    hex += kDigits[digest[i] >> 4U];
    hex += kDigits[digest[i] & 0xfU];
  }
  return hex;
}

Result<Principal> Gate::admit(const ServerRequest& request, std::int64_t unix_seconds) const {
  const std::string_view authorization = request.field("Authorization");
  if (!authorization.empty()) {
    if (authorization.size() <= kBearer.size() ||
        !equals_ignoring_case(authorization.substr(0, kBearer.size()), kBearer)) {
      return Error::permission_denied("an Authorization that is no bearer token");
    }
    return by_token(authorization.substr(kBearer.size()), unix_seconds);
  }
  if (request.peer.process) return by_process(*request.peer.process, rules_);
  if (rules_.open_listeners.count(request.peer.listener) > 0 &&
      names_this_machine(request.field("Host"))) {
    return Principal{.name = "anyone", .role = Role::kRead};
  }
  return Principal{.name = "nobody", .role = Role::kNone};
}

Result<Principal> Gate::by_token(std::string_view token, std::int64_t unix_seconds) const {
  PJ_TRY(const std::string digest, sha256_hex(token));
  // All are looked at, so that the time says nothing of which one it is.
  const TokenRecord* found = nullptr;
  for (const TokenRecord& record : rules_.tokens) {
    if (same_digest(record.sha256, digest)) found = &record;
  }
  if (found == nullptr) return Error::permission_denied("a token that is not known here");
  if (found->expires_unix != 0 && found->expires_unix <= unix_seconds) {
    return Error::permission_denied("the token " + found->name + " has expired",
                                    "ask for another: perjoule token add");
  }
  return Principal{
      .name = "token:" + found->name, .role = found->role, .expires_unix = found->expires_unix};
}

}  // namespace perjoule

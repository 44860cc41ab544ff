// Giving up root's rights.
//
//   PJ_TRY(const SystemUser who, find_user("perjoule"));
//   PJ_CHECK(become_user(who));                  // there is no way back
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace perjoule {

struct SystemUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

/// not_found where this machine has no such user.
Result<SystemUser> find_user(const std::string& name);

/// With the groups he is in, without capabilities, and without a way to gain any. permission_denied
/// where this process is neither root nor that user.
Outcome become_user(const SystemUser& user);

}  // namespace perjoule

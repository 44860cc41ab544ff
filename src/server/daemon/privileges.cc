#include "server/daemon/privileges.h"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace perjoule {

Result<SystemUser> find_user(const std::string& name) {
  std::array<char, 16'384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return Error::not_found("this machine has no user " + name,
                            "make one: useradd --system " + name);
  }
  return SystemUser{name, found->pw_uid, found->pw_gid};
}

Outcome become_user(const SystemUser& user) {
  if (::geteuid() == user.uid) return {};
  if (::geteuid() != 0) {
    return Error::permission_denied("only root can become " + user.name,
                                    "start it as root, or leave --user out");
  }
  // In this order: without root's user the groups cannot be changed any more. The change of user
  // takes all capabilities away.
  if (::initgroups(user.name.c_str(), user.gid) != 0 ||
      ::setresgid(user.gid, user.gid, user.gid) != 0 ||
      ::setresuid(user.uid, user.uid, user.uid) != 0) {
    return Error::from_errno(errno, "cannot become " + user.name);
  }
  if (::setresuid(0, 0, 0) == 0) return Error::internal("root's rights are still there");
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return {};
}

}  // namespace perjoule

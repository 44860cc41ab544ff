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

Outcome hand_over_folder(const std::string& socket, const SystemUser& user) {
  const std::size_t slash = socket.rfind('/');
  if (socket.empty() || slash == std::string::npos || slash == 0) return {};
  const std::string folder = socket.substr(0, slash);
  // A folder for all, such as /tmp, stays root's.
  const bool is_ours = folder.size() > 9 && folder.substr(folder.size() - 9) == "/perjoule";
  if (!is_ours || ::chown(folder.c_str(), user.uid, user.gid) == 0) return {};
  return Error::from_errno(errno, "cannot give " + folder + " to " + user.name);
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

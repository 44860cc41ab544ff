// Lets a group read RAPL: the kernel closes energy_uj to all but root since CVE-2020-8694, because
// fine readings of power can betray what another process computes. A site that trusts the members
// of a group opens the files to them, and to them only.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace perjoule {

struct RaplPermission {
  std::vector<std::string> written;  ///< files that were written
  std::vector<std::string> next;     ///< commands that put them into force
};

/// The udev rule that opens RAPL's energy counters to the group.
std::string rapl_udev_rule(const std::string& group);

/// Writes the rule and the group's declaration below `etc` ("/etc"). permission_denied, with
/// nothing written, for an ordinary user; invalid_argument for a name that is no group's.
Result<RaplPermission> open_rapl_to_group(const std::string& etc, const std::string& group);

}  // namespace perjoule

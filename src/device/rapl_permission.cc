#include "device/rapl_permission.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"

namespace perjoule {
namespace {

/// As useradd and systemd have it; also keeps anything out of the rule that is more than a name.
bool is_group_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto rest = [&letter](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= 31 && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), rest);
}

Outcome write(const std::string& folder, const std::string& name, const std::string& text,
              RaplPermission& done) {
  const std::string path = folder + "/" + name;
  Outcome written = make_folders(folder);
  if (written) written = write_file_atomically(path, text);
  if (written) {
    done.written.push_back(path);
    return {};
  }
  Error error = written.error();
  if (error.code == ErrorCode::kPermissionDenied)
    error.remedy = "run it as root: sudo perjoule doctor --fix";
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

std::string rapl_udev_rule(const std::string& group) {
  return fmt::format(
      "# Written by perjoule doctor --fix. The group {0} may read the energy counters of the\n"
      "# processors; remove this file to close them again. Fine readings of power can betray what\n"
      "# others compute (CVE-2020-8694): keep the group to people you trust with that.\n"
      "SUBSYSTEM==\"powercap\", ACTION==\"add|change\", TEST==\"energy_uj\", "
      "RUN+=\"/bin/chgrp {0} /sys%p/energy_uj\", RUN+=\"/bin/chmod 0440 /sys%p/energy_uj\"\n"
      "SUBSYSTEM==\"hwmon\", ACTION==\"add|change\", ATTR{{name}}==\"amd_energy\", "
      "RUN+=\"/bin/sh -c '/bin/chgrp {0} /sys%p/energy*_input'\"\n",
      group);
}

Result<RaplPermission> open_rapl_to_group(const std::string& etc, const std::string& group) {
  if (!is_group_name(group)) {
    return Error::invalid_argument("not the name of a group: '" + group + "'",
                                   "use small letters, digits, '-' and '_'");
  }
  RaplPermission done;
  PJ_CHECK(write(etc + "/sysusers.d", "perjoule-rapl.conf",
                 "# Written by perjoule doctor --fix: who may read the processors' energy.\ng " +
                     group + " - -\n",
                 done));
  PJ_CHECK(write(etc + "/udev/rules.d", "70-perjoule-rapl.rules", rapl_udev_rule(group), done));
  done.next = {"systemd-sysusers (or groupadd --system " + group + ")", "udevadm control --reload",
               "udevadm trigger --action=change --subsystem-match=powercap",
               "usermod --append --groups " + group + " USER, then log in anew"};
  return done;
}

}  // namespace perjoule

#include "cli/node_meters.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "device/joined_device.h"
#ifdef PERJOULE_WITH_REDFISH
#include "device/redfish.h"
#endif

namespace perjoule::cli {
namespace {

#ifdef PERJOULE_WITH_REDFISH
Result<std::unique_ptr<Device>> open(const NodeMeters& meters, const Clock& clock) {
  RedfishOptions options;
  options.url = meters.url;
  options.user = meters.user;
  options.authorities = meters.authorities;
  if (!meters.password_file.empty()) {
    auto text = read_file(meters.password_file);
    if (!text) return fail(text, "PERJOULE_REDFISH_PASSWORD_FILE");
    options.password = text->substr(0, text->find_first_of("\r\n"));
  }
  return open_redfish(options, clock);
}
#else
Result<std::unique_ptr<Device>> open(const NodeMeters& /*meters*/, const Clock& /*clock*/) {
  return Error::not_supported("this perjoule was built without libcurl",
                              "install libcurl's headers and build it again");
}
#endif

/// Whether the machine tells of that source, be it by a problem.
bool is_told(const Inventory& machine, const char* id) {
  const std::vector<Source*> sources = machine.sources();
  return std::any_of(sources.begin(), sources.end(),
                     [id](Source* source) { return source->info().id == id; }) ||
         std::any_of(machine.problems.begin(), machine.problems.end(),
                     [id](const Problem& problem) { return problem.subject == id; });
}

}  // namespace

Result<NodeMeters> NodeMeters::from_environment() {
  NodeMeters meters;
  for (const std::string& word : list_words({environment("PERJOULE_NODE_METERS")})) {
    if (word != "ipmi" && word != "redfish") {
      return Error::invalid_argument("PERJOULE_NODE_METERS: '" + word + "' is no node meter",
                                     "write ipmi, redfish or ipmi,redfish");
    }
    (word == "ipmi" ? meters.ipmi : meters.redfish) = true;
  }
  if (!meters.redfish) return meters;
  meters.url = environment("PERJOULE_REDFISH_URL");
  meters.user = environment("PERJOULE_REDFISH_USER");
  meters.password_file = environment("PERJOULE_REDFISH_PASSWORD_FILE");
  meters.authorities = environment("PERJOULE_REDFISH_AUTHORITIES");
  if (meters.url.empty()) {
    return Error::invalid_argument(
        "PERJOULE_NODE_METERS asks for redfish, and PERJOULE_REDFISH_URL is not set",
        "set it to the controller's resource, https://CONTROLLER/redfish/v1/Chassis/1/Power");
  }
  return meters;
}

void add_node_meters(Inventory& machine, const NodeMeters& meters, const Clock& clock) {
  if (meters.ipmi && !is_told(machine, kDcmiSource)) {
    Outcome none = Error::not_found("there is no /dev/ipmi0",
                                    "modprobe ipmi_si ipmi_devintf, where there is a controller");
    machine.problems.push_back({kDcmiSource, none.error()});
  }
  if (!meters.redfish) return;
  auto node = open(meters, clock);
  if (node) {
    join_device(machine.devices, std::move(*node));
  } else {
    machine.problems.push_back({kRedfishSource, node.error()});
  }
}

}  // namespace perjoule::cli

// Meters of the whole machine, asked only where the environment says so: an IPMI controller may
// take a second to answer, and a Redfish one lies behind the network.
#pragma once

#include <string>

#include "base/clock.h"
#include "device/discovery.h"

namespace perjoule::cli {

constexpr char kDcmiSource[] = "node/dcmi";
constexpr char kRedfishSource[] = "node/redfish";

struct NodeMeters {
  bool ipmi = false;
  bool redfish = false;
  std::string url;            ///< of the controller's Power or EnvironmentMetrics resource
  std::string user;           ///< empty: asked without an account
  std::string password_file;  ///< its first line; never the password itself, which others could see
  std::string authorities;    ///< file of certificates to trust; empty for the system's

  /// From PERJOULE_NODE_METERS and PERJOULE_REDFISH_URL, _USER, _PASSWORD_FILE and _AUTHORITIES.
  static Result<NodeMeters> from_environment();
};

/// Adds the Redfish node where it is asked for, and a problem for every meter that is asked for and
/// cannot be had.
void add_node_meters(Inventory& machine, const NodeMeters& meters, const Clock& clock);

}  // namespace perjoule::cli

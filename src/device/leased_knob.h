// Knobs that this user may not turn, turned by the machine's daemon on his behalf.
//
//   Inventory machine = discover(...);
//   lease_forbidden_knobs(machine, [&clock] { return ApiClient::find_local(clock); });
//
// Each knob is tried as it is; where its driver says that we may not, the daemon is asked for a
// lease, and a thread renews it for as long as the value is held. Setting the value that was found
// gives the lease back. So a verb turns knobs, journals them and puts them back without knowing who
// really does; and where its process is killed, the lease ends, and the daemon puts the knob back.
#pragma once

#include <functional>
#include <memory>

#include "client/api_client.h"
#include "device/discovery.h"

namespace perjoule {

/// Finds the daemon, when the first knob asks for it.
using FindDaemon = std::function<Result<std::unique_ptr<ApiClient>>()>;

/// Wraps the machine's devices that have knobs.
void lease_forbidden_knobs(Inventory& machine, FindDaemon find_daemon);

}  // namespace perjoule

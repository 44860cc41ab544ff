// A node's power as its management controller tells it over Redfish. A target of its own
// (perjoule_redfish), because it needs the network; off unless it is asked for by address.
//
// The controller is asked by a thread at its own pace; the source hands out the last answer while
// it is fresh, so that the sampling path neither waits nor allocates. `IntervalInMin` is the length
// of the statistics beside the reading, not its pace (kepler PR#734).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "device/device.h"

namespace perjoule {

struct RedfishOptions {
  std::string url;  ///< of a Power or a PowerSubsystem/EnvironmentMetrics/PowerMetrics resource
  std::string user;
  std::string password;
  std::string authorities;  ///< file of certificates to trust; empty for the system's
  Seconds timeout{5};
  Seconds every{10};
};

/// The power in a Power resource (`PowerControl[].PowerConsumedWatts`, summed over the controls
/// that are not subsystems of the first) or in an EnvironmentMetrics one (`PowerWatts.Reading`).
Result<Watts> parse_redfish_power(const Json& resource);

/// Gets the resource's text.
using RedfishFetch = std::function<Result<std::string>()>;
/// By libcurl, with basic authentication and the options' time-out.
RedfishFetch redfish_over_https(RedfishOptions options);

/// Holds the last answer.
class RedfishSource final : public Source {
 public:
  RedfishSource(SourceInfo info, RedfishFetch fetch, const Clock& clock);
  const SourceInfo& info() const noexcept override;
  /// kUnavailable when the last answer is older than three ticks; its error when it was none.
  Reading read() noexcept override;
  /// Asks once.
  Outcome refresh();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Asks once, so that a wrong address or password is said at the start, then keeps asking.
Result<std::unique_ptr<Device>> open_redfish(const RedfishOptions& options, const Clock& clock);
/// The same with another way to get the text.
Result<std::unique_ptr<Device>> open_redfish(const RedfishOptions& options, RedfishFetch fetch,
                                             const Clock& clock);

}  // namespace perjoule

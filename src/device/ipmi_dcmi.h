// The whole node's power as its management controller tells it: IPMI's DCMI "get power reading"
// through /dev/ipmi0. Off by default: a controller may take a second to answer, and may not answer.
//
// Traps: the reading is of the controller's own pace (1 s to 60 s, by vendor); its "sampling
// period" is that of the minimum, maximum and mean beside it (1,131,466 s on one machine), not the
// reading's; two controllers' sensors have been seen 10 W apart.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device/device.h"
#include "device/roots.h"

namespace perjoule {

/// IPMI's numbers of the command.
constexpr unsigned char kDcmiNetFunction = 0x2C;
constexpr unsigned char kDcmiGetPowerReading = 0x02;
constexpr unsigned char kDcmiPowerRequest[] = {0xDC, 0x01, 0x00, 0x00};

struct DcmiPower {
  Watts now;
  Watts minimum;  ///< these three over the controller's statistics period
  Watts maximum;
  Watts mean;
  Seconds period;
};

/// The controller's answer, completion code first. Its refusals come back as errors.
Result<DcmiPower> parse_dcmi_power(std::span<const unsigned char> answer);
/// The same for the sampling path.
Reading read_dcmi_power(std::span<const unsigned char> answer) noexcept;

/// One question and its answer; `got` bytes of it lie in `answer`, completion code first.
class IpmiLine {
 public:
  virtual ~IpmiLine() = default;
  virtual ErrorCode ask(unsigned char net_function, unsigned char command,
                        std::span<const unsigned char> request, std::span<unsigned char> answer,
                        std::size_t& got) noexcept = 0;
};

/// The kernel's line to the controller; kTimeout when it has not answered within `timeout`.
Result<std::unique_ptr<IpmiLine>> open_ipmi(const Roots& roots, Seconds timeout = Seconds(1));

/// The node behind that line.
Discovered discover_dcmi(std::unique_ptr<IpmiLine> line);
/// The node behind /dev/ipmi0; nothing where there is no such file.
Discovered discover_ipmi_dcmi(const Roots& roots);

}  // namespace perjoule

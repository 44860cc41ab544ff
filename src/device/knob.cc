#include "device/knob.h"

#include <fmt/format.h>

#include "base/text.h"

namespace perjoule {

Result<double> knob_number(const KnobInfo& info, const std::string& value) {
  const auto number = leading_number(value);
  if (!number) {
    return Error::invalid_argument(
        fmt::format("{} of {}: not a number: '{}'", info.name, info.device, value));
  }
  if (info.maximum > 0 && (*number < info.minimum || *number > info.maximum)) {
    return Error::out_of_range(
        fmt::format("{} of {}: {} {} is outside {} to {} {}", info.name, info.device, *number,
                    info.unit, info.minimum, info.maximum, info.unit),
        "choose a value within the range");
  }
  return *number;
}

}  // namespace perjoule

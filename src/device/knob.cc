#include "device/knob.h"

#include <fmt/format.h>

#include <algorithm>

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

Outcome check_knob_value(const KnobInfo& info, const std::string& value) {
  if (info.choices.empty()) {
    if (info.unit.empty()) return {};  // words that the driver does not list: it refuses itself
    const auto number = knob_number(info, value);
    return number ? Outcome() : fail(number);
  }
  std::vector<std::string_view> words{trim(value)};
  if (info.combinable) words = split(value, '+');
  for (const std::string_view word : words) {
    if (std::find(info.choices.begin(), info.choices.end(), trim(word)) != info.choices.end())
      continue;
    std::string known;
    for (const std::string& choice : info.choices) known += (known.empty() ? "" : ", ") + choice;
    return Error::invalid_argument(
        fmt::format("{} of {}: '{}' is no choice of its", info.name, info.device, trim(word)),
        "there are " + known);
  }
  return {};
}

}  // namespace perjoule

// The JSON reader: whatever it accepts must print and parse to the same value.
#include <cstdlib>

#include "base/energy_json.h"
#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = perjoule::parse_json(text);
  if (!json) return 0;
  const auto again = perjoule::parse_json(json->dump());
  if (!again || !(*again == *json)) std::abort();
  (void)perjoule::energy_from_json(*json);
  return 0;
}

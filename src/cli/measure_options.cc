#include "cli/measure_options.h"

#include "base/text.h"

namespace perjoule::cli {

Result<Seconds> read_period(const Arguments& arguments) {
  PJ_TRY(const auto every, arguments.read<Seconds>("every", parse_seconds));
  if (every->value() >= 1e-4 && every->value() <= 3600) return *every;
  return Error::invalid_argument("--every " + arguments.value("every") + ": outside 0.1 ms to 1 h");
}

}  // namespace perjoule::cli

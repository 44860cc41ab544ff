// Stamps as programs write them for people, "12-23-2020 10:21:51.496", to unix time. Most do not
// say which zone they are of: they are then taken to be the local time of the machine that reads
// them, unless the caller says how far theirs was ahead of UTC.
//
//   const auto ns = parse_stamp("2024/05/01 12:00:00.250", "Y/M/D h:m:s", Seconds(7200));
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"

namespace perjoule {

/// The stamp in unix nanoseconds; none when the text is no stamp of that form, or not of a year
/// from 1971 to 2100. In the form Y is a year of four digits, M, D, h, m and s are two digits each,
/// a blank is a blank or 'T', anything else stands for itself. A fraction of the second and a zone
/// ("Z", "+02:00") may follow, and the zone counts more than `utc_offset`, which is what local time
/// is ahead of UTC (none: as this machine is set, daylight saving included). O(characters).
std::optional<std::int64_t> parse_stamp(std::string_view text, std::string_view form,
                                        std::optional<Seconds> utc_offset);

/// Unix seconds to nanoseconds; none when not finite or outside these years.
std::optional<std::int64_t> ns_of_unix_seconds(double seconds);

}  // namespace perjoule

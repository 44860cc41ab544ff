// What a column's name says about its unit, the way people write it: "avg_tpot_s", "median_itl_ms",
// "Energy (kWh)", "energy_per_token_joules", "gpu power [W]".
//
//   unit_of_column("median_itl_ms")->factor          // 1e-3, a time
//   unit_of_column("energy_per_req_j")->dimension    // kEnergy
//   unit_of_column("images_per_sec")                 // a rate, never a time
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perjoule {

enum class Dimension { kTime, kEnergy, kPower, kRate };

struct FigureUnit {
  Dimension dimension = Dimension::kTime;
  double factor = 1;  ///< to SI
};

/// The unit of that symbol or word: "ms", "seconds", "kWh", "MJ", "mJ". Case tells mega from milli;
/// written in lower case throughout, "mj" and "mw" are milli, and "mwh", which people use for both,
/// is unknown.
std::optional<FigureUnit> unit_named(std::string_view name);

/// The unit a column's name ends in, or has before "per": "energy_j_per_token". Throughputs and
/// whatever is "per second" are rates, with factor 1.
std::optional<FigureUnit> unit_of_column(std::string_view column);

/// Whether the name is that of a column of the dimension whether or not it has a unit: "time",
/// "latency", "energy". Used to choose among several and where no unit is written.
bool is_plain_name(std::string_view column, Dimension dimension);

/// Whether the column holds a moment, a spread or an extreme rather than the figure itself:
/// "start_time", "energy_std_j".
bool is_side_figure(std::string_view column);

}  // namespace perjoule

// How an Energy stands in JSON, the same in every document we write:
//
//   {"joules": 12.5, "expanded_j": 0.4, "status": "measured", "grade": "B", "boundary": "B0",
//    "source": "gpu:GPU-1"}
//
// The status of a sum of unlike parts names them all: "simulated + estimated".
// `expanded_j` (two sigma) and `grade` are for readers. What they cannot tell (which part is
// random, which sensor's error it shares with other figures, hard bounds) follows in `random_j`,
// `systematic`, `lower_j` and `upper_j` where there is any, so that reading back loses nothing.
// `lower_bound` and `upper_bound` are there, and true, only where the figure is no more than that.
#pragma once

#include <optional>
#include <string_view>

#include "base/energy.h"
#include "base/json.h"

namespace perjoule {

Json to_json(const Energy& energy);

/// Reads what to_json writes. `joules` and `status` must be there (`joules` may be null where the
/// status is missing); without `random_j` the whole of `expanded_j` is taken as random. Fails with
/// invalid_argument naming the member.
Result<Energy> energy_from_json(const Json& json);

/// The border of that name: "B0".
std::optional<Boundary> boundary_named(std::string_view name);

}  // namespace perjoule

// A part of a course of power, in even steps, as a page draws it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// What a page may ask for at once.
inline constexpr std::size_t kMostPartPoints = 20'000;

struct PowerPart {
  std::int64_t from_unix_ms = 0;  ///< where the first step begins
  Seconds step;
  std::vector<float> mean = {};  ///< W; not a number where nothing is known
  std::vector<float> least = {};
  std::vector<float> most = {};
};

/// Samples on an even grid from t0 on, W: those from `from` to `to`, in at most so many steps, each
/// of the same number of samples. invalid_argument where the part ends before it begins or has no
/// points. O(samples of the part).
Result<PowerPart> decimated(const std::vector<float>& watts, std::int64_t t0_unix_ns, Seconds dt,
                            std::int64_t from_unix_ms, std::int64_t to_unix_ms, std::size_t points);

/// {"schema","source","from_unix_ms","step_s","mean_w","least_w","most_w"}; null where nothing is
/// known.
Json to_json(const PowerPart& part, std::string_view schema, std::string_view source);

/// What must hold of any part that is asked for.
Outcome check_part(std::int64_t from_unix_ms, std::int64_t to_unix_ms, std::size_t points);

}  // namespace perjoule

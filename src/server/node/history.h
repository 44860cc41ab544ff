// Power over the last hours, days and months, of each series in fixed memory: rings of buckets of
// 1 s, 1 min and 1 h, each with mean, least and most.
//
//   History history;
//   history.add("gpu:GPU-1", unix_ms, Watts(312));
//   PJ_TRY(const PowerPart part, history.part("gpu:GPU-1", from_ms, to_ms, 800));
//
// What was asked for is answered from the finest ring that still has all of it, in at most so many
// even steps; a step in which nothing was known is not a number. Times are of the wall clock: where
// that is set back, what lies after it now is forgotten, for those times come again. Any thread.
// O(series) memory, about 0.5 MB each; a part is O(buckets).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "server/node/power_part.h"

namespace perjoule {

class History {
 public:
  History();
  /// With rings of another size, for tests: seconds a bucket and buckets.
  struct Level {
    std::int64_t step_s = 1;
    std::size_t buckets = 0;
  };
  explicit History(std::vector<Level> levels) : levels_(std::move(levels)) {}

  /// A mean power over about a second, known at that time. What is not finite is left out.
  void add(const std::string& series, std::int64_t unix_ms, Watts power);

  /// not_found for a series there is not; invalid_argument where `to` is not after `from`, or no
  /// points are asked for.
  Result<PowerPart> part(std::string_view series, std::int64_t from_unix_ms,
                         std::int64_t to_unix_ms, std::size_t points) const;
  std::vector<std::string> series() const;

 private:
  struct Bucket {
    std::int64_t number = -1;  ///< of its step since 1970; -1: empty
    float sum = 0;
    float least = 0;
    float most = 0;
    std::uint32_t count = 0;
  };
  struct Series {
    std::vector<std::vector<Bucket>> rings;
    std::int64_t newest_ms = 0;
  };
  void forget_after(Series& series, std::int64_t unix_ms) const;
  const Level& level_for(std::int64_t newest_ms, std::int64_t from_ms, std::size_t& index) const;

  const std::vector<Level> levels_;
  mutable std::mutex mutex_;  // what follows
  std::map<std::string, Series, std::less<>> series_;
};

}  // namespace perjoule

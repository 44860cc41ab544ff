// How many requests each principal may make: a bucket of tokens that fills at a rate, and holds a
// burst.
//
//   RateLimit limit({.per_second = 100, .burst = 200});
//   if (const Seconds wait = limit.take(who.name, clock.now()); wait > Seconds(0)) ...  // 429
//
// Any thread. O(log principals) a request; principals that have been full for long are forgotten.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/units.h"

namespace perjoule {

class RateLimit {
 public:
  struct Rule {
    double per_second = 0;  ///< 0: no limit
    double burst = 0;
  };
  explicit RateLimit(Rule rule) : rule_(rule) {}

  /// Takes one; or says how long to wait until there is one.
  Seconds take(const std::string& principal, Instant now);

 private:
  struct Bucket {
    double filled = 0;
    Instant at;
  };
  void forget_full(Instant now);

  static constexpr std::size_t kMost = 4096;
  const Rule rule_;
  std::mutex mutex_;  // what follows
  std::map<std::string, Bucket> buckets_;
};

}  // namespace perjoule

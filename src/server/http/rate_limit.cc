#include "server/http/rate_limit.h"

#include <algorithm>

namespace perjoule {

Seconds RateLimit::take(const std::string& principal, Instant now) {
  if (rule_.per_second <= 0) return Seconds(0);
  const std::lock_guard lock(mutex_);
  if (buckets_.size() >= kMost) forget_full(now);
  const auto [found, is_new] = buckets_.try_emplace(principal, Bucket{rule_.burst, now});
  Bucket& bucket = found->second;
  const double seconds = std::max(0.0, (now - bucket.at).value());
  bucket.filled = std::min(rule_.burst, bucket.filled + seconds * rule_.per_second);
  bucket.at = now;
  if (bucket.filled < 1) return Seconds((1 - bucket.filled) / rule_.per_second);
  bucket.filled -= 1;
  return Seconds(0);
}

void RateLimit::forget_full(Instant now) {
  const Seconds to_fill(rule_.burst / rule_.per_second);
  std::erase_if(buckets_, [&](const auto& one) { return now - one.second.at >= to_fill; });
}

}  // namespace perjoule

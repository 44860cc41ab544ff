// Random numbers that are the same on every machine and compiler for the same seed, so that a
// simulation can be repeated to the last digit: xoshiro256** (Blackman and Vigna, 2021), seeded
// through SplitMix64.
//
//   Random random(seed);
//   Random of_trial = random.child(trial);   // its own stream: draws of one do not shift another's
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace perjoule {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  /// 64 random bits.
  std::uint64_t bits();
  /// In [0, 1), 53 bits.
  double uniform();
  /// In [0, count), count above 0; without bias (Lemire 2019).
  std::uint64_t below(std::uint64_t count);
  /// Mean 0, variance 1 (Marsaglia's polar method).
  double normal();
  /// A stream that depends on this one's seed and `key` only, not on what was drawn.
  Random child(std::uint64_t key) const;

  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace perjoule

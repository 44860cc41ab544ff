#include "math/random.h"

#include <bit>
#include <cmath>

namespace perjoule {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace

Random::Random(std::uint64_t seed) : seed_(seed), state_{} {
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }

std::uint64_t Random::below(std::uint64_t count) {
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{bits()} * count;
  if (static_cast<std::uint64_t>(product) < count) {
    const std::uint64_t threshold = (0 - count) % count;
    while (static_cast<std::uint64_t>(product) < threshold) product = Wide{bits()} * count;
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double square = u * u + v * v;
    if (square >= 1 || square == 0) continue;
    const double scale = std::sqrt(-2 * std::log(square) / square);
    spare_ = v * scale;
    has_spare_ = true;
    return u * scale;
  }
}

Random Random::child(std::uint64_t key) const {
  std::uint64_t state = seed_ ^ (key * 0xD1342543DE82EF95U + 0x632BE59BD9B4E019U);
  return Random(split_mix(state));
}

}  // namespace perjoule

#include "serving/board/energy_stars.h"

#include <algorithm>
#include <cmath>

namespace perjoule {

std::vector<int> stars_by_range(const std::vector<Joules>& energies) {
  std::vector<int> stars;
  if (energies.empty()) return stars;
  const auto [low, high] = std::minmax_element(energies.begin(), energies.end());
  const Joules span = *high - *low;
  for (const Joules energy : energies) {
    const double fifth = span.value() > 0 ? std::floor(5 * ((energy - *low) / span)) : 0;
    stars.push_back(5 - static_cast<int>(std::min(4.0, fifth)));
  }
  return stars;
}

std::vector<int> stars_by_rank(const std::vector<Joules>& energies) {
  std::vector<Joules> sorted = energies;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> stars;
  for (const Joules energy : energies) {
    const auto below = static_cast<std::size_t>(
        std::lower_bound(sorted.begin(), sorted.end(), energy) - sorted.begin());
    stars.push_back(5 - static_cast<int>(5 * below / sorted.size()));
  }
  return stars;
}

char size_class(double total_billions) {
  return total_billions <= 20 ? 'A' : total_billions <= 66 ? 'B' : 'C';
}

}  // namespace perjoule

#include "serving/board/response_energy.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace perjoule {
namespace {

bool is_histogram(const LengthHistogram& lengths) {
  if (lengths.counts.empty() || lengths.edges.size() != lengths.counts.size() + 1) return false;
  for (std::size_t i = 0; i < lengths.counts.size(); ++i) {
    if (!(lengths.counts[i] >= 0 && std::isfinite(lengths.counts[i]))) return false;
    if (!(lengths.edges[i] < lengths.edges[i + 1])) return false;
  }
  return lengths.edges.front() >= 0 && std::isfinite(lengths.edges.back());
}

Joules percentile(const ResponseEnergies& energies, double total, double share) {
  double below = 0;
  for (std::size_t i = 0; i < energies.counts.size(); ++i) {
    const double count = energies.counts[i];
    if (count > 0 && below + count >= share * total) {
      const double within = (share * total - below) / count;
      return energies.edges[i] + (energies.edges[i + 1] - energies.edges[i]) * within;
    }
    below += count;
  }
  return energies.edges.back();
}

/// From the last edge at or below `low` to the first at or above `high`; both above zero.
std::vector<Joules> log_edges(Joules low, Joules high) {
  constexpr std::array<double, 6> kSteps{1, 1.5, 2, 3, 5, 7};
  std::vector<Joules> edges;
  double decade = std::pow(10, std::floor(std::log10(low.value())) - 1);
  for (; edges.empty() || edges.back() < high; decade *= 10) {
    for (const double step : kSteps) {
      const Joules edge(step * decade);
      if (edge <= low) edges.clear();
      if (edges.empty() || edges.back() < high) edges.push_back(edge);
    }
  }
  return edges;
}

}  // namespace

std::optional<ResponseEnergies> response_energies(const BenchResult& result) {
  const auto& lengths = result.lengths.outputs;
  const auto& token = result.energy.output_token;
  if (!lengths || !token || !is_histogram(*lengths)) return std::nullopt;
  double total = 0;
  for (const double count : lengths->counts) total += count;
  if (!(total > 0)) return std::nullopt;
  ResponseEnergies energies;
  energies.counts = lengths->counts;
  for (const double length : lengths->edges) energies.edges.push_back(token->joules * length);
  energies.p50 = percentile(energies, total, 0.5);
  energies.p90 = percentile(energies, total, 0.9);
  energies.p99 = percentile(energies, total, 0.99);
  return energies;
}

ResponseEnergies in_log_bins(const ResponseEnergies& energies) {
  ResponseEnergies binned = energies;
  const auto first = std::find_if(energies.edges.begin(), energies.edges.end(),
                                  [](Joules edge) { return edge.value() > 0; });
  if (first == energies.edges.end()) return binned;
  binned.edges = log_edges(*first, energies.edges.back());
  if (energies.edges.front() < binned.edges.front())
    binned.edges.insert(binned.edges.begin(), energies.edges.front());
  binned.counts.assign(binned.edges.size() - 1, 0);
  for (std::size_t i = 0; i < energies.counts.size(); ++i) {
    const Joules low = energies.edges[i];
    const Joules width = energies.edges[i + 1] - low;
    for (std::size_t j = 0; j < binned.counts.size(); ++j) {
      const Joules overlap =
          std::min(energies.edges[i + 1], binned.edges[j + 1]) - std::max(low, binned.edges[j]);
      if (overlap.value() > 0) binned.counts[j] += energies.counts[i] * (overlap / width);
    }
  }
  return binned;
}

}  // namespace perjoule

#include "pipeline/plan/energy_error.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace perjoule {

std::optional<Joules> energy_error(const PipelineProblem& problem,
                                   std::span<const std::uint32_t> option) {
  std::vector<std::vector<double>> uses(problem.classes());
  for (std::uint32_t c = 0; c < uses.size(); ++c) {
    uses[c].resize(problem.profiled(c).options.size());
  }
  for (std::uint32_t a = 0; a < option.size(); ++a) ++uses[problem.class_of()[a]][option[a]];
  // By profiled instruction and not by class: chunks that the profile does not tell apart share
  // one.
  std::map<std::pair<const ProfiledInstruction*, std::size_t>, double> of_option;
  for (std::uint32_t c = 0; c < uses.size(); ++c) {
    for (std::size_t i = 0; i < uses[c].size(); ++i) {
      if (uses[c][i] > 0) of_option[{&problem.profiled(c), i}] += uses[c][i];
    }
  }
  double variance = 0;
  for (const auto& [used, count] : of_option) {
    const std::optional<Joules>& error = used.first->options[used.second].energy_error;
    if (!error) return std::nullopt;
    variance += std::pow(count * error->value(), 2);
  }
  return Joules(std::sqrt(variance));
}

Energy iteration_energy(Joules energy, std::optional<Joules> error, std::string source) {
  Energy figure;
  figure.joules = energy;
  figure.random = error.value_or(Joules(0));
  figure.source = std::move(source);
  figure.boundary = Boundary::kDevice;
  figure.status = Status::kReconstructed;
  return figure;
}

}  // namespace perjoule

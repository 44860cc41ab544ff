#include "pipeline/plan/baselines.h"

#include <algorithm>

namespace perjoule {
namespace {

/// One pick a class, for all its activities.
template <typename Pick>
std::vector<std::uint32_t> by_class(const PipelineProblem& problem, Pick pick) {
  std::vector<std::uint32_t> of_class(problem.classes());
  for (std::uint32_t c = 0; c < of_class.size(); ++c) of_class[c] = pick(problem.profiled(c));
  std::vector<std::uint32_t> option;
  option.reserve(problem.class_of().size());
  for (const std::uint32_t c : problem.class_of()) option.push_back(of_class[c]);
  return option;
}

template <typename Better>
std::uint32_t best(const ProfiledInstruction& instruction, Better better) {
  std::uint32_t found = 0;
  for (std::uint32_t i = 1; i < instruction.options.size(); ++i) {
    if (better(instruction.options[i], instruction.options[found])) found = i;
  }
  return found;
}

/// The first knob as a number.
std::optional<double> level(const KnobOption& option) {
  if (option.knob.empty()) return std::nullopt;
  return option.knob.number((*option.knob.settings().begin()).name);
}

}  // namespace

bool is_higher_setting(const KnobOption& a, const KnobOption& b) {
  const auto x = level(a);
  const auto y = level(b);
  if (x && y && *x != *y) return *x > *y;
  return a.time < b.time;
}

std::vector<std::uint32_t> highest_settings(const PipelineProblem& problem) {
  return by_class(problem, [](const ProfiledInstruction& instruction) {
    return best(instruction, is_higher_setting);
  });
}

std::vector<std::uint32_t> least_energy_settings(const PipelineProblem& problem) {
  return by_class(problem, [](const ProfiledInstruction& instruction) {
    return best(instruction,
                [](const KnobOption& a, const KnobOption& b) { return a.energy < b.energy; });
  });
}

std::vector<UniformSetting> uniform_settings(const PipelineProblem& problem) {
  std::vector<UniformSetting> uniform;
  if (problem.classes() == 0) return uniform;
  // What has a single option (a data load) has no clock to tell.
  std::uint32_t chooses = 0;
  while (chooses + 1 < problem.classes() && problem.profiled(chooses).options.size() == 1) {
    ++chooses;
  }
  for (const KnobOption& candidate : problem.profiled(chooses).options) {
    bool everywhere = true;
    std::vector<std::uint32_t> of_class;
    for (std::uint32_t c = 0; c < problem.classes() && everywhere; ++c) {
      const auto& options = problem.profiled(c).options;
      // What has a single option has no clock to choose.
      const auto at = options.size() == 1
                          ? options.begin()
                          : std::find_if(options.begin(), options.end(), [&](const KnobOption& o) {
                              return o.knob == candidate.knob;
                            });
      everywhere = at != options.end();
      of_class.push_back(static_cast<std::uint32_t>(at - options.begin()));
    }
    if (!everywhere) continue;
    UniformSetting one{candidate.knob, {}};
    for (const std::uint32_t c : problem.class_of()) one.option.push_back(of_class[c]);
    uniform.push_back(std::move(one));
  }
  return uniform;
}

}  // namespace perjoule

#include "fleet/engine/profile_trials.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "base/parallel.h"

namespace perjoule {
namespace {

constexpr double kHopeless = 0.5;

/// By class, and all of them last.
using LengthsOfClass = std::array<std::vector<TokenLengths>, kLoadClasses + 1>;

LengthsOfClass by_class(const std::vector<std::shared_ptr<const StepModel>>& models,
                        std::span<const TokenLengths> lengths) {
  LengthsOfClass of_class;
  for (const TokenLengths& one : lengths) {
    // What has no tokens, or more than any engine holds, is served by none.
    const bool fits = std::any_of(models.begin(), models.end(), [&](const auto& model) {
      return fits_cache(*model, one.prompt, one.output);
    });
    if (one.prompt < 1 || one.output < 1 || !fits) continue;
    of_class[load_class(input_class(one.prompt), output_class(one.output))].push_back(one);
    of_class[kLoadClasses].push_back(one);
  }
  return of_class;
}

struct Job {
  const StepModel* model = nullptr;
  EngineLimits limits = {};
  std::size_t clock = 0;
  std::size_t load_class = 0;
};

ProfileCurve curve_of(const Job& job, const LengthsOfClass& lengths, const ProfileTrials& trials) {
  const StepModel::Traits& traits = job.model->traits();
  ProfileCurve curve;
  curve.layout = traits.layout;
  curve.clock_mhz = traits.clocks_mhz[job.clock];
  if (job.load_class < kLoadClasses)
    curve.load_class = name_of_class(static_cast<LoadClass>(job.load_class));
  curve.status = Status::kSimulated;
  curve.origin = "simulated engine; steps " + traits.origin;
  for (const double load : trials.loads) {
    const TrialLoad trial{
        .lengths = lengths[job.load_class],
        .prompt_rate = load,
        .instances = job.load_class == kLoadClasses ? trials.instances_of_all : trials.instances,
        .levels = trials.levels,
        .seed = trials.seed};
    curve.points.push_back(serve_trial(*job.model, job.limits, job.clock, trial, trials.size));
    if (curve.points.back().attainment < kHopeless) break;
  }
  return curve;
}

}  // namespace

Result<ServingProfile> profile_of_engines(
    const std::vector<std::shared_ptr<const StepModel>>& models,
    std::span<const TokenLengths> lengths, const ProfileTrials& trials) {
  const LengthsOfClass of_class = by_class(models, lengths);
  if (of_class.back().empty())
    return Error::invalid_argument("a profile needs requests with tokens in prompt and output");
  const bool rising =
      std::adjacent_find(trials.loads.begin(), trials.loads.end(),
                         [](double a, double b) { return !(a < b); }) == trials.loads.end();
  if (trials.loads.empty() || !(trials.loads.front() > 0) || !rising)
    return Error::invalid_argument("a profile needs loads above 0 that rise");
  std::vector<Job> jobs;
  for (std::size_t layout = 0; layout < models.size(); ++layout) {
    const StepModel& model = *models[layout];
    const std::size_t first = trials.only_at_highest_clock ? model.highest_clock() : 0;
    for (std::size_t clock = first; clock < model.traits().clocks_mhz.size(); ++clock) {
      for (std::size_t one = trials.only_of_all ? kLoadClasses : 0; one < of_class.size(); ++one)
        if (!of_class[one].empty()) jobs.push_back({&model, trials.limits.of(layout), clock, one});
    }
  }
  ServingProfile profile;
  profile.curves.resize(jobs.size());
  std::atomic<std::size_t> done = 0;
  in_parallel(jobs.size(), [&](std::size_t i) {
    profile.curves[i] = curve_of(jobs[i], of_class, trials);
    ++done;
    if (trials.progress) trials.progress(done, jobs.size());
  });
  return profile;
}

}  // namespace perjoule

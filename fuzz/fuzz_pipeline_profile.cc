// Profiles of pipelines: whatever is accepted must be found again, and make a problem that is
// solved or refused.
#include <cstdlib>

#include "pipeline/plan/problem.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perjoule;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = PipelineProfile::parse(text, "f");
  if (!profile) return 0;
  for (const ProfiledInstruction& one : profile->instructions()) {
    if (one.options.empty()) std::abort();
    const auto found = profile->find(one.stage, one.chunk, one.name);
    if (!found) std::abort();
    for (const KnobOption& option : one.options) {
      if (!(option.time.value() > 0) || option.energy.value() < 0 || option.repeats < 1)
        std::abort();
    }
  }
  if (profile->stages() > 8) return 0;
  const auto schedule = make_schedule("1f1b", {.stages = profile->stages(), .microbatches = 3});
  if (!schedule) std::abort();
  const auto problem = PipelineProblem::make(*profile, *schedule, {Watts(70), {}});
  if (problem) (void)problem->solve();
  return 0;
}

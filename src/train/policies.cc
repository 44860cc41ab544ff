#include "train/policies.h"

#include "train/perjoule_policy.h"
#include "train/plain_policies.h"
#include "train/zeus_policy.h"

namespace perjoule {

Result<PlayedPolicy> make_policy(const PolicyChoice& choice, const WorkloadTrace& trace,
                                 const JobCost& cost) {
  JobSpec spec = spec_of(trace, choice.beta);
  spec.window = choice.window;
  spec.prior = choice.prior;
  PlayedPolicy played;
  if (choice.name == "zeus") {
    PJ_TRY(played.policy, ZeusPolicy::make(spec));
    played.search = LimitSearch::kAll;
  } else if (choice.name == "perjoule") {
    PJ_TRY(played.policy, PerjoulePolicy::make(spec));
    played.search = LimitSearch::kAround;
  } else if (choice.name == "grid") {
    std::vector<int> limits;
    for (const BatchRecord& batch : trace.batches)
      limits.push_back(static_cast<int>(batch.limits.size()));
    PJ_TRY(played.policy, GridPolicy::make(spec, std::move(limits)));
    played.search = LimitSearch::kOneByOne;
  } else if (choice.name == "default") {
    played.policy = std::make_unique<FixedPolicy>("default", spec.default_batch);
    played.search = LimitSearch::kHighest;
  } else if (choice.name == "oracle") {
    const std::optional<Optimum> best = cheapest(trace, cost);
    const int batch_size = best ? trace.batches[best->place.batch].batch_size : spec.default_batch;
    played.policy = std::make_unique<FixedPolicy>("oracle", batch_size);
    played.search = LimitSearch::kKnown;
  } else {
    return Error::invalid_argument("no policy '" + choice.name + "'",
                                   "zeus, perjoule, default, grid or oracle");
  }
  return played;
}

}  // namespace perjoule

#include "train/job_cost.h"

#include <fmt/format.h>

namespace perjoule {

Result<JobCost> JobCost::make(double eta, Watts max_power) {
  if (!(eta >= 0 && eta <= 1)) {
    return Error::invalid_argument(fmt::format("eta {} lies outside 0 to 1", eta),
                                   "0 asks for the fastest training, 1 for the least energy");
  }
  if (!(max_power.value() > 0))
    return Error::invalid_argument("the largest power of the job is not above 0");
  return JobCost(eta, max_power);
}

}  // namespace perjoule

// Prefill and decode told apart on one set of GPUs that do both: over time the prompts that are
// read and the tokens that are made come in changing proportion, and the energy follows.
//
//   PJ_TRY(const PhaseEnergy phases, phase_energy(records, power, window));
//   phases.prompt_token * 500 + phases.output_token * 300;     // a request of these lengths
//
// The window is cut into batches of equal time. Of each, its energy is regressed on the prompt
// tokens whose reading ended in it and the output tokens that came in it, without a constant: idle
// power and what all share goes with the two, which so come to the whole but for a part in a
// hundred. The standard errors are of the residuals, widened by their correlation from batch to
// batch (a factor of
// ((1 + r) / (1 - r))^1/2, r of lag 1). Where either is not known to a half (k = 2), the data do
// not allow it, and the answer says so.
#pragma once

#include <vector>

#include "base/energy.h"
#include "base/result.h"
#include "serving/stream/request_record.h"
#include "serving/window/steady_window.h"

namespace perjoule {

/// How the two were told apart.
enum class PhaseRule {
  kRegression,
  kGpus,  ///< by whose GPUs: prefill and decode have their own
};

struct PhaseEnergy {
  PhaseRule rule = PhaseRule::kRegression;
  Joules prompt_token;  ///< of reading one
  Joules prompt_sigma;  ///< one standard error
  Joules output_token;  ///< of making one
  Joules output_sigma;
  double prefill_share = 0;  ///< of the window's energy
  std::size_t batches = 0;
  Seconds batch;
};

/// unavailable where the two cannot be told apart, saying why. O(chunks + samples).
Result<PhaseEnergy> phase_energy(const std::vector<RequestRecord>& records,
                                 const std::vector<PowerReading>& power,
                                 const SteadyWindow& window);

/// Where prefill and decode have GPUs of their own: what those that prefill drew, over the prompt
/// tokens read in the window, and what the others drew, over its output tokens but the first of
/// each answer, which prefill makes. unavailable where either energy or count is missing.
Result<PhaseEnergy> phase_energy(const Energy& prefill, const Energy& decode,
                                 const WindowTotals& totals);

}  // namespace perjoule

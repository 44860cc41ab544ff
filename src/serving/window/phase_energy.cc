#include "serving/window/phase_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace perjoule {
namespace {

constexpr std::size_t kMostBatches = 200;
constexpr std::size_t kFewestBatches = 20;
// Edges of batches cut steps of the server in two: a batch holds some tens of them.
constexpr Seconds kShortestBatch{0.5};
constexpr double kKnown = 0.5;  // of the figure, at k = 2

struct Batch {
  double prompts = 0;
  double outputs = 0;
  double joules = 0;
};

std::vector<Batch> batches_of(const std::vector<RequestRecord>& records,
                              const std::vector<PowerReading>& power, const SteadyWindow& window,
                              std::size_t count) {
  std::vector<Batch> batches(count);
  const Seconds each = window.duration() / static_cast<double>(count);
  const auto batch_at = [&](Instant at) -> Batch* {
    if (at <= window.from || at > window.until) return nullptr;
    const auto index = static_cast<std::size_t>((at - window.from) / each);
    return &batches[std::min(index, count - 1)];
  };
  for (const RequestRecord& record : records) {
    const Response& response = record.response;
    if (response.first_token) {
      if (Batch* batch = batch_at(*response.first_token))
        batch->prompts += static_cast<double>(response.tokens.prompt.value_or(0) -
                                              response.tokens.cached.value_or(0));
    }
    for (const Chunk& chunk : response.chunks) {
      if (Batch* batch = batch_at(chunk.at)) batch->outputs += chunk.tokens;
    }
  }
  // One pass over the samples: each line between two of them goes to the batches it crosses.
  for (std::size_t i = 1; i < power.size(); ++i) {
    const PowerReading& a = power[i - 1];
    const PowerReading& b = power[i];
    const Watts mean = (a.power + b.power) / 2.0;
    Instant from = std::max(a.at, window.from);
    const Instant until = std::min(b.at, window.until);
    while (from < until) {
      const auto index = std::min(count - 1, static_cast<std::size_t>((from - window.from) / each));
      Instant end = index + 1 == count
                        ? until
                        : std::min(until, window.from + each * static_cast<double>(index + 1));
      if (end <= from) end = until;
      batches[index].joules += (mean * (end - from)).value();
      from = end;
    }
  }
  return batches;
}

/// How much wider the errors are than those of batches that know nothing of one another.
double widening(const std::vector<double>& residuals, double squares) {
  double products = 0;
  for (std::size_t i = 1; i < residuals.size(); ++i) products += residuals[i - 1] * residuals[i];
  const double r = squares > 0 ? std::clamp(products / squares, 0.0, 0.95) : 0;
  return std::sqrt((1 + r) / (1 - r));
}

}  // namespace

Result<PhaseEnergy> phase_energy(const std::vector<RequestRecord>& records,
                                 const std::vector<PowerReading>& power,
                                 const SteadyWindow& window) {
  const auto fit = static_cast<std::size_t>(window.duration() / kShortestBatch);
  const std::size_t count = std::min(kMostBatches, fit);
  if (count < kFewestBatches) {
    return Error::unavailable(fmt::format("prefill and decode cannot be told apart in {:.1f} s",
                                          window.duration().value()),
                              "run longer");
  }
  if (power.empty())
    return Error::unavailable("prefill and decode cannot be told apart: no power was measured");
  const std::vector<Batch> batches = batches_of(records, power, window, count);
  double pp = 0, po = 0, oo = 0, pe = 0, oe = 0, prompts = 0, joules = 0;
  for (const Batch& batch : batches) {
    pp += batch.prompts * batch.prompts;
    po += batch.prompts * batch.outputs;
    oo += batch.outputs * batch.outputs;
    pe += batch.prompts * batch.joules;
    oe += batch.outputs * batch.joules;
    prompts += batch.prompts;
    joules += batch.joules;
  }
  if (!(prompts > 0)) {
    return Error::unavailable(
        "prefill and decode cannot be told apart: the server does not say "
        "how long the prompts are");
  }
  const double determinant = pp * oo - po * po;
  if (!(determinant > 1e-9 * pp * oo)) {
    return Error::unavailable(
        "prefill and decode cannot be told apart: prompts and answers come "
        "in the same proportion all the time");
  }
  PhaseEnergy phases;
  phases.prompt_token = Joules((oo * pe - po * oe) / determinant);
  phases.output_token = Joules((pp * oe - po * pe) / determinant);
  std::vector<double> residuals;
  double squares = 0;
  for (const Batch& batch : batches) {
    residuals.push_back(batch.joules - phases.prompt_token.value() * batch.prompts -
                        phases.output_token.value() * batch.outputs);
    squares += residuals.back() * residuals.back();
  }
  const double noise = std::sqrt(squares / static_cast<double>(count - 2));
  const double wider = noise * widening(residuals, squares);
  phases.prompt_sigma = Joules(wider * std::sqrt(oo / determinant));
  phases.output_sigma = Joules(wider * std::sqrt(pp / determinant));
  phases.prefill_share = phases.prompt_token.value() * prompts / joules;
  phases.batches = count;
  phases.batch = window.duration() / static_cast<double>(count);
  const auto is_known = [](Joules value, Joules sigma) {
    return value.value() > 0 && 2 * sigma.value() <= kKnown * value.value();
  };
  if (!is_known(phases.prompt_token, phases.prompt_sigma) ||
      !is_known(phases.output_token, phases.output_sigma)) {
    return Error::unavailable(
        fmt::format("prefill and decode cannot be told apart: {:.3g} +- {:.2g} J a prompt token "
                    "and {:.3g} +- {:.2g} J an output token is all that {} batches say",
                    phases.prompt_token.value(), 2 * phases.prompt_sigma.value(),
                    phases.output_token.value(), 2 * phases.output_sigma.value(), count),
        "run longer, or mix long prompts with short ones");
  }
  return phases;
}

Result<PhaseEnergy> phase_energy(const Energy& prefill, const Energy& decode,
                                 const WindowTotals& totals) {
  const double prompts = static_cast<double>(totals.prompt_tokens);
  const double outputs =
      static_cast<double>(totals.output_tokens) - static_cast<double>(totals.first_tokens);
  if (prefill.status == Status::kMissing || decode.status == Status::kMissing)
    return Error::unavailable(
        "prefill and decode cannot be told apart: the energy of one is missing");
  if (!(prompts > 0) || !(outputs > 0)) {
    return Error::unavailable(
        "prefill and decode cannot be told apart: the window has no tokens of "
        "one, or the server does not say how long the prompts are");
  }
  PhaseEnergy phases;
  phases.rule = PhaseRule::kGpus;
  phases.prompt_token = prefill.joules / prompts;
  phases.prompt_sigma = prefill.standard_uncertainty() / prompts;
  phases.output_token = decode.joules / outputs;
  phases.output_sigma = decode.standard_uncertainty() / outputs;
  phases.prefill_share = prefill.joules / (prefill.joules + decode.joules);
  return phases;
}

}  // namespace perjoule

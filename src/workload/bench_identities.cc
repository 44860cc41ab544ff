#include "workload/bench_identities.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

double off(double left, double right) {
  if (left == right) return 0;
  const double relative = std::abs(left / right - 1);
  return std::isfinite(relative) ? relative : INFINITY;
}

void check_positive(std::string_view what, std::optional<double> value,
                    std::vector<std::string>& wrong) {
  if (value && !(*value > 0 && std::isfinite(*value)))
    wrong.push_back(fmt::format("{} is {}, not above 0", what, exact(*value)));
}

void check_positive(std::string_view what, const std::optional<Energy>& energy,
                    std::vector<std::string>& wrong) {
  if (energy && energy->status != Status::kMissing)
    check_positive(what, energy->joules.value(), wrong);
}

void check_latencies(std::string_view what, const LatencySummary& summary,
                     std::vector<std::string>& wrong) {
  for (const auto& latency : {summary.mean, summary.p50, summary.p90, summary.p95, summary.p99}) {
    if (latency) check_positive(what, latency->value(), wrong);
  }
}

}  // namespace

std::vector<IdentityError> identity_errors(const BenchResult& r) {
  std::vector<IdentityError> errors;
  const auto& token = r.energy.output_token;
  if (token && r.power && r.rates.output_tokens) {
    errors.push_back({"power = energy per output token x output rate",
                      off(r.power->value(), token->joules.value() * *r.rates.output_tokens)});
  }
  if (token && r.energy.response && r.lengths.mean_output) {
    errors.push_back(
        {"energy per response = energy per output token x mean output length",
         off(r.energy.response->joules.value(), token->joules.value() * *r.lengths.mean_output)});
  }
  const Energy* item = r.kind == BenchKind::kText ? nullptr : unit_energy(r);
  if (item == nullptr || !r.batch.size || !r.latency.batch) return errors;
  const double rate = static_cast<double>(*r.batch.size) / r.latency.batch->value();
  if (r.power) {
    errors.push_back({"power = energy x batch / batch latency",
                      off(r.power->value(), item->joules.value() * rate)});
  }
  if (r.rates.items) errors.push_back({"rate = batch / batch latency", off(*r.rates.items, rate)});
  return errors;
}

std::vector<std::string> wrong_figures(const BenchResult& r) {
  std::vector<std::string> wrong;
  check_positive("energy per output token", r.energy.output_token, wrong);
  check_positive("energy per token", r.energy.total_token, wrong);
  check_positive("energy per response", r.energy.response, wrong);
  check_positive("energy per image", r.energy.image, wrong);
  check_positive("energy per video", r.energy.video, wrong);
  if (r.power) check_positive("power", r.power->value(), wrong);
  check_positive("output rate", r.rates.output_tokens, wrong);
  check_positive("rate of images or videos", r.rates.items, wrong);
  check_latencies("an ITL", r.latency.itl, wrong);
  check_latencies("a TTFT", r.latency.ttft, wrong);
  check_latencies("a TPOT", r.latency.tpot, wrong);
  check_latencies("an end-to-end latency", r.latency.e2el, wrong);
  if (r.latency.batch) check_positive("batch latency", r.latency.batch->value(), wrong);
  if (r.quality.accuracy && !(*r.quality.accuracy >= 0 && *r.quality.accuracy <= 1))
    wrong.push_back(fmt::format("accuracy is {}, not within 0 and 1", exact(*r.quality.accuracy)));
  for (const IdentityError& error : identity_errors(r)) {
    if (!(error.relative <= kIdentityTolerance))
      wrong.push_back(fmt::format("{} is off by {:.2g}", error.identity, error.relative));
  }
  return wrong;
}

}  // namespace perjoule

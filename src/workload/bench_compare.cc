#include "workload/bench_compare.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace perjoule {
namespace {

const Energy* energy_of(const BenchResult& result, BenchUnit unit) {
  return unit == BenchUnit::kItem ? unit_energy(result) : response_energy(result);
}

std::string shown(const std::string& text) { return text.empty() ? "not stated" : text; }

template <typename T>
std::string shown(const std::optional<T>& value) {
  return value ? fmt::format("{:.6g}", static_cast<double>(*value)) : "not stated";
}

void add_unlike(const BenchResult& a, const BenchResult& b, std::vector<std::string>& unlike) {
  const auto differ = [&unlike](std::string_view what, const std::string& first,
                                const std::string& second) {
    if (first != second) unlike.push_back(fmt::format("{}: {} and {}", what, first, second));
  };
  differ("model", a.model.id, b.model.id);
  differ("task", a.task, b.task);
  differ("precision", shown(a.model.precision), shown(b.model.precision));
  differ("GPUs", fmt::format("{} {}", a.gpus.count, shown(a.gpus.model)),
         fmt::format("{} {}", b.gpus.count, shown(b.gpus.model)));
  differ("max_num_seqs", shown(a.batch.max_num_seqs), shown(b.batch.max_num_seqs));
  differ("concurrency", shown(a.load.concurrency), shown(b.load.concurrency));
  differ("request rate", shown(a.load.asked_per_s), shown(b.load.asked_per_s));
  // Lengths are drawn: a fiftieth is chance.
  const auto far = [](const std::optional<double>& x, const std::optional<double>& y) {
    return x.has_value() != y.has_value() || (x && std::abs(*x - *y) > 0.02 * *x);
  };
  if (far(a.lengths.mean_input, b.lengths.mean_input))
    differ("mean prompt", shown(a.lengths.mean_input), shown(b.lengths.mean_input));
  if (far(a.lengths.mean_output, b.lengths.mean_output))
    differ("mean answer", shown(a.lengths.mean_output), shown(b.lengths.mean_output));
}

std::string void_reason(const BenchResult& result, const Energy* energy, std::string_view which) {
  if (energy == nullptr || energy->status == Status::kMissing)
    return fmt::format("the {} result has no such energy", which);
  if (!result.validity.empty())
    return fmt::format("the {} result is void: {}", which, result.validity.front());
  if (energy->one_sided()) return fmt::format("the {} result's energy is only a bound", which);
  if (!(energy->joules.value() > 0))
    return fmt::format("the {} result's energy is not above 0", which);
  return "";
}

}  // namespace

std::string_view name_of(BenchVerdict verdict) {
  constexpr std::array<std::string_view, 4> kNames{"better", "same", "worse", "unknown"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Result<BenchComparison> compare_bench(const BenchResult& before, const BenchResult& after,
                                      const BenchCompareOptions& options) {
  if (!std::isfinite(options.fail_above) || options.fail_above < 0)
    return Error::invalid_argument("the allowance is not a share of 0 or more");
  if (before.kind != after.kind) {
    return Error::invalid_argument(fmt::format("one result is of {}s, the other of {}s",
                                               name_of(before.kind), name_of(after.kind)));
  }
  BenchComparison found;
  add_unlike(before, after, found.unlike);
  const Energy* const first = energy_of(before, options.unit);
  const Energy* const second = energy_of(after, options.unit);
  if (first != nullptr) found.before = *first;
  if (second != nullptr) found.after = *second;
  found.reason = void_reason(before, first, "first");
  if (found.reason.empty()) found.reason = void_reason(after, second, "second");
  if (!found.reason.empty()) return found;
  for (const auto& [energy, which] : {std::pair{first, "first"}, std::pair{second, "second"}}) {
    if (!uncertainty_stated(*energy))
      found.notes.push_back(
          fmt::format("the {} result states no uncertainty: its energy is taken as exact", which));
  }
  found.change = *second - *first;
  found.relative = found.change.joules / first->joules;
  found.half_width = found.change.expanded_uncertainty() / first->joules;
  if (found.relative - found.half_width > options.fail_above) {
    found.verdict = BenchVerdict::kWorse;
  } else if (found.relative + found.half_width < 0) {
    found.verdict = BenchVerdict::kBetter;
  } else if (found.half_width > options.fail_above && options.fail_above > 0) {
    // It would pass whatever it takes: no gate.
    found.reason = fmt::format(
        "the difference, {:+.1f} %, is known to {:.1f} % only, which is more "
        "than the {:.1f} % that are allowed: measure longer, or on one GPU",
        100 * found.relative, 100 * found.half_width, 100 * options.fail_above);
  } else {
    found.verdict = BenchVerdict::kSame;
  }
  if (first->boundary != second->boundary)
    found.unlike.push_back(
        fmt::format("boundary: {} and {}", name_of(first->boundary), name_of(second->boundary)));
  if (first->status_text() != second->status_text())
    found.unlike.push_back(
        fmt::format("status: {} and {}", first->status_text(), second->status_text()));
  return found;
}

}  // namespace perjoule

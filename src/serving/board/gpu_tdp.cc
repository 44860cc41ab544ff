#include "serving/board/gpu_tdp.h"

#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"

namespace perjoule {

extern const std::string_view kGpuTdpCsv;

namespace {

/// The shipped table; a test reads every row.
const std::vector<std::pair<std::string, Watts>>& table() {
  static const std::vector<std::pair<std::string, Watts>> rows = [] {
    std::vector<std::pair<std::string, Watts>> read;
    const auto csv = parse_csv(kGpuTdpCsv, "gpu_tdp.csv");
    for (std::size_t i = 0; csv && i < csv->rows(); ++i) {
      if (const auto watts = csv->number(i, 1)) read.emplace_back(csv->cell(i, 0), Watts(*watts));
    }
    return read;
  }();
  return rows;
}

}  // namespace

std::optional<Watts> gpu_tdp(std::string_view name) {
  for (const auto& [word, watts] : table()) {
    if (name.find(word) != std::string_view::npos) return watts;
  }
  return std::nullopt;
}

std::optional<Watts> gpu_tdp(const BenchGpus& gpus) {
  const auto known = gpu_tdp(gpus.name);
  return known ? known : gpu_tdp(gpus.model);
}

std::optional<TdpEstimate> tdp_estimate(const BenchResult& result) {
  const auto tdp = gpu_tdp(result.gpus);
  const Energy* energy = unit_energy(result);
  if (!tdp || !result.power || !(result.power->value() > 0) || energy == nullptr)
    return std::nullopt;
  const double ratio = *tdp * static_cast<double>(result.gpus.count) / *result.power;
  return TdpEstimate{energy->joules * ratio, ratio};
}

}  // namespace perjoule

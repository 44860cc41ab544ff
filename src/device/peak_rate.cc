#include "device/peak_rate.h"

#include "base/csv.h"

namespace perjoule {

extern const std::string_view kAcceleratorPeaksCsv;

std::optional<PeakRate> find_peak_rate(std::string_view device_name) {
  const auto table = parse_csv(kAcceleratorPeaksCsv, "accelerator_peaks.csv");
  if (!table) return std::nullopt;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    if (device_name.find(table->cell(row, 0)) == std::string_view::npos) continue;
    const auto teraflops = table->number(row, 2);
    if (teraflops) return PeakRate{std::string(table->cell(row, 1)), *teraflops * 1e12};
  }
  return std::nullopt;
}

}  // namespace perjoule

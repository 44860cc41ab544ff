#include "pipeline/profile/knob_columns.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace perjoule {
namespace {

/// Columns that are no knob.
constexpr std::array<std::string_view, 14> kTaken = {
    "stage",   "pp_rank", "chunk",      "instruction", "time",          "energy",  "rank",
    "dp_rank", "tp_rank", "microbatch", "time_spread", "energy_spread", "repeats", "power"};

}  // namespace

std::vector<std::size_t> knob_columns(const CsvTable& table) {
  std::vector<std::size_t> knobs;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const bool taken = std::any_of(kTaken.begin(), kTaken.end(), [&](std::string_view name) {
      return equals_ignoring_case(name, table.columns()[c]);
    });
    if (!taken) knobs.push_back(c);
  }
  return knobs;
}

std::vector<std::size_t> columns_with_prefix(const CsvTable& table, std::string_view prefix) {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const std::string_view name = table.columns()[c];
    if (name.size() > prefix.size() && equals_ignoring_case(name.substr(0, prefix.size()), prefix))
      found.push_back(c);
  }
  return found;
}

KnobReader::KnobReader(const CsvTable& table, std::vector<std::size_t> columns,
                       std::string_view prefix)
    : table_(table), columns_(std::move(columns)) {
  auto names = std::make_shared<std::vector<std::string>>();
  for (const std::size_t c : columns_)
    names->push_back(std::string(std::string_view(table.columns()[c]).substr(prefix.size())));
  names_ = std::move(names);
}

Config KnobReader::at(std::size_t row) const {
  std::vector<std::string_view> values;
  values.reserve(columns_.size());
  for (const std::size_t c : columns_) values.push_back(trim(table_.cell(row, c)));
  return Config(names_, values);
}

}  // namespace perjoule

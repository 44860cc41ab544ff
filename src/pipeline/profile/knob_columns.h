// The columns of a pipeline's tables that are settings of knobs: each that is no other.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/csv.h"

namespace perjoule {

/// All but stage, chunk, instruction, time, energy, power, a rank's number, and the like.
std::vector<std::size_t> knob_columns(const CsvTable& table);
/// Those whose name begins with `prefix`, in any case.
std::vector<std::size_t> columns_with_prefix(const CsvTable& table, std::string_view prefix);

/// Knob columns as the setting of each row. The table must outlive it.
class KnobReader {
 public:
  /// `prefix` is no part of the knobs' names.
  KnobReader(const CsvTable& table, std::vector<std::size_t> columns, std::string_view prefix = {});
  Config at(std::size_t row) const;

 private:
  const CsvTable& table_;
  std::vector<std::size_t> columns_;
  Config::Names names_;
};

}  // namespace perjoule

// Rows of named cells, whether they stand in CSV or JSON, so that reading points knows no format.
//
// JSON rows are an array of objects, or the one member of an object that is such an array
// ("configurations", "results", ...). Nested objects give dotted names ("parallelization.tp");
// arrays inside a row are left out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/json.h"
#include "base/result.h"

namespace perjoule {

class RowSource {
 public:
  virtual ~RowSource() = default;
  /// The file, for messages.
  virtual const std::string& name() const = 0;
  virtual const std::vector<std::string>& columns() const = 0;
  virtual std::size_t rows() const = 0;
  /// The cell as text; empty where the row has none. `scratch` holds it where it must be made.
  virtual std::string_view text(std::size_t row, std::size_t column,
                                std::string& scratch) const = 0;
  /// The cell as a finite number; the error names file, line (or element) and column.
  virtual Result<double> number(std::size_t row, std::size_t column) const = 0;
  /// Line of the file, or element of the array, 1-based.
  virtual std::size_t origin(std::size_t row) const = 0;
  /// "runs.csv: line 3, column 'x'".
  virtual std::string where(std::size_t row, std::size_t column) const = 0;

  /// The column of that exact name, else of that name in another case.
  std::optional<std::size_t> find(std::string_view column) const;
};

std::unique_ptr<RowSource> csv_rows(CsvTable table);
/// Fails with invalid_argument when the document holds no such array, or more than one.
Result<std::unique_ptr<RowSource>> json_rows(Json document, std::string_view name);
/// Either, told apart by the first character.
Result<std::unique_ptr<RowSource>> parse_rows(std::string text, std::string_view name);
/// Whether a text is meant as JSON: its first character, past blanks and byte-order mark, is { or
/// [.
bool looks_like_json(std::string_view text);

}  // namespace perjoule

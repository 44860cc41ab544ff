// CSV as people really write it: BOM, CRLF or LF, quoted fields, comma, semicolon or tab, a decimal
// comma where the separator is a semicolon, comment lines. Errors name the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perjoule {

/// A table held as text: the file's own bytes with what stands between the cells taken out, so that
/// 10^6 rows cost little more than their file.
class CsvTable {
 public:
  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t rows() const { return lines_.size(); }
  /// The cell's text, unquoted; row and column in range.
  std::string_view cell(std::size_t row, std::size_t column) const;
  /// The line of the file that row began on, 1-based.
  std::size_t line(std::size_t row) const { return lines_[row]; }
  /// The column of that exact name, or, failing that, of that name in another case.
  std::optional<std::size_t> column(std::string_view name) const;
  /// The same; not having it is an error that names the table and the columns there are.
  Result<std::size_t> require_column(std::string_view name) const;
  /// The cell as a finite number. Fails with file, line and column name on anything else (empty,
  /// NaN, words).
  Result<double> number(std::size_t row, std::size_t column) const;
  const std::string& name() const { return name_; }

 private:
  friend class CsvParser;
  std::string name_;
  std::vector<std::string> columns_;
  std::string text_;                 ///< the cells' bytes, one behind the other
  std::vector<std::size_t> begins_;  ///< where each row begins in text_
  std::vector<std::uint32_t> ends_;  ///< end of each cell, from its row's beginning, row-major
  std::vector<std::size_t> lines_;
  bool decimal_comma_ = false;
};

/// Parses a whole CSV text whose first row names the columns. `name` is for messages. O(bytes).
/// Refuses: no header, duplicate column names, rows with more or fewer fields than the header or of
/// more than 4 GiB, an unterminated quote, a NUL byte.
Result<CsvTable> parse_csv(std::string_view text, std::string_view name);
/// The same, the table made in place of the text: for large ones.
Result<CsvTable> take_csv(std::string text, std::string_view name);
Result<CsvTable> read_csv(const std::string& path);

/// A field quoted where it must be.
std::string csv_field(std::string_view text);

}  // namespace perjoule

// Aligned tables on a terminal, plain text in a pipe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perjoule::cli {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string heading;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row; missing cells are empty.
  void add(std::vector<std::string> cells);
  /// The table with two spaces between columns and no trailing blanks; every line ends in a
  /// newline.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The text's beginning, cut where a UTF-8 character ends, with "..." behind it.
std::string shortened(const std::string& text, std::size_t width);
/// The text without control characters: those of a command would move the terminal's cursor.
std::string printable(std::string text);

/// Writes to standard output; the first failure (a full disk, a closed pipe) is kept for
/// output_failed().
void print(std::string_view text);
/// While it lives, what is printed is kept instead of written; not one within another.
class PrintedText {
 public:
  PrintedText();
  ~PrintedText();
  PrintedText(const PrintedText&) = delete;
  PrintedText& operator=(const PrintedText&) = delete;
  const std::string& text() const { return text_; }

 private:
  friend void print(std::string_view text);
  std::string text_;
};
/// errno of the first failed write to standard output, or 0.
int output_failed();
/// Writes a line to standard error: "perjoule: text".
void complain(std::string_view text);
/// Whether standard output (or error) is a terminal.
bool output_is_terminal();
bool error_is_terminal();

}  // namespace perjoule::cli

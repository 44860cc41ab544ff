#include "cli/table.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/text.h"

namespace perjoule::cli {

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].heading);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string row;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - display_width(cell), ' ');
      if (i > 0) row += "  ";
      row += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].heading; });
  for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
  return out;
}

std::string shortened(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end) {
    const bool begins_character = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins_character && ++shown > width - 3) break;
  }
  return text.substr(0, end) + "...";
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

namespace {
int first_failure = 0;
PrintedText* kept = nullptr;
}  // namespace

PrintedText::PrintedText() { kept = this; }
PrintedText::~PrintedText() { kept = nullptr; }

void print(std::string_view text) {
  if (kept != nullptr) {
    kept->text_ += text;
    return;
  }
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((!whole || std::fflush(stdout) != 0) && first_failure == 0) first_failure = errno;
}

int output_failed() { return first_failure; }

void complain(std::string_view text) {
  // Messages quote what stood in files: no control character of theirs reaches the terminal.
  std::string safe(text);
  for (char& c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) c = '?';
  }
  std::fprintf(stderr, "perjoule: %s\n", safe.c_str());
}

bool output_is_terminal() { return ::isatty(STDOUT_FILENO) != 0; }
bool error_is_terminal() { return ::isatty(STDERR_FILENO) != 0; }

}  // namespace perjoule::cli

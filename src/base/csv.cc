#include "base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "base/file.h"
#include "base/text.h"

namespace perjoule {

std::string_view CsvTable::cell(std::size_t row, std::size_t column) const {
  const std::size_t index = row * columns_.size() + column;
  const std::size_t begin = column == 0 ? 0 : ends_[index - 1];
  return std::string_view(text_).substr(begins_[row] + begin, ends_[index] - begin);
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) return i;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (equals_ignoring_case(columns_[i], name)) return i;
  }
  return std::nullopt;
}

Result<std::size_t> CsvTable::require_column(std::string_view name) const {
  if (const auto at = column(name)) return *at;
  std::string all;
  for (const std::string& one : columns_) (all += all.empty() ? "" : ", ") += one;
  return Error::invalid_argument(fmt::format("{}: no column '{}'", name_, name),
                                 "its columns are " + all);
}

Result<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string_view text = trim(cell(row, column));
  std::optional<double> value;
  if (decimal_comma_ && text.find(',') != std::string_view::npos &&
      text.find('.') == std::string_view::npos) {
    std::string pointed(text);
    std::replace(pointed.begin(), pointed.end(), ',', '.');
    value = parse_number(pointed);
  } else {
    value = parse_number(text);
  }
  if (value) return *value;
  const std::string where =
      fmt::format("{}: line {}, column '{}'", name_, lines_[row], columns_[column]);
  if (text.empty()) return Error::invalid_argument(where + ": empty where a number is wanted");
  if (decimal_comma_ && text.find(',') != std::string_view::npos &&
      text.find('.') != std::string_view::npos) {
    return Error::invalid_argument(
        fmt::format("{}: not a number: '{}': it has both a point and a comma", where, text),
        "write numbers without marks between the thousands");
  }
  if (!decimal_comma_ && text.find(',') != std::string_view::npos) {
    return Error::invalid_argument(
        fmt::format("{}: not a number: '{}'", where, text),
        "with a decimal comma the fields must be separated by semicolons");
  }
  return Error::invalid_argument(fmt::format("{}: not a finite number: '{}'", where, text));
}

/// One pass over the text. A field is moved to the end of those before it, in the text's own
/// memory: what is written is never more than what has been read.
class CsvParser {
 public:
  CsvParser(std::string text, std::string_view name) {
    table_.name_ = name;
    table_.text_ = std::move(text);
    text_ = table_.text_;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.substr(0, 3) == kByteOrderMark) at_ = 3;
  }

  Result<CsvTable> parse() {
    if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos) {
      const auto line =
          1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
      return Error::invalid_argument(
          fmt::format("{}: line {}: a NUL byte; is this a text file?", table_.name_, line));
    }
    separator_ = detect_separator();
    table_.decimal_comma_ = separator_ != ',';
    PJ_CHECK(header());
    reserve();
    while (skip_blank_lines()) {
      table_.lines_.push_back(line_);
      table_.begins_.push_back(out_);
      row_begin_ = out_;
      PJ_TRY(const std::size_t fields, record());
      if (fields != table_.columns_.size()) {
        return Error::invalid_argument(fmt::format("{}: line {}: {} fields where the header has {}",
                                                   table_.name_, table_.lines_.back(), fields,
                                                   table_.columns_.size()));
      }
    }
    table_.text_.resize(out_);
    return std::move(table_);
  }

 private:
  /// Room for all rows, so that no vector doubles. A cell takes at least a byte of the text.
  void reserve() {
    const auto rows = static_cast<std::size_t>(
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())),
                   text_.end(), '\n'));
    table_.lines_.reserve(rows + 1);
    table_.begins_.reserve(rows + 1);
    table_.ends_.reserve(std::min((rows + 1) * table_.columns_.size(), text_.size() + 1));
  }

  /// The separator that occurs most in the header outside quotes; comma when none does.
  char detect_separator() {
    skip_blank_lines();
    std::size_t commas = 0;
    std::size_t semicolons = 0;
    std::size_t tabs = 0;
    bool quoted = false;
    for (std::size_t i = at_; i < text_.size() && (quoted || text_[i] != '\n'); ++i) {
      if (text_[i] == '"') quoted = !quoted;
      if (quoted) continue;
      commas += text_[i] == ',';
      semicolons += text_[i] == ';';
      tabs += text_[i] == '\t';
    }
    if (semicolons > commas && semicolons >= tabs) return ';';
    return tabs > commas ? '\t' : ',';
  }

  Outcome header() {
    if (at_ >= text_.size())
      return Error::invalid_argument(table_.name_ + ": empty: no header row");
    const std::size_t header_line = line_;
    PJ_TRY(const std::size_t fields, record());
    std::size_t begin = 0;
    std::unordered_set<std::string> seen;
    for (std::size_t i = 0; i < fields; ++i) {
      std::string column(trim(text_.substr(begin, table_.ends_[i] - begin)));
      begin = table_.ends_[i];
      if (!seen.insert(column).second) {
        return Error::invalid_argument(fmt::format("{}: line {}: column '{}' appears twice",
                                                   table_.name_, header_line, column));
      }
      table_.columns_.push_back(std::move(column));
    }
    out_ = 0;
    table_.ends_.clear();
    return {};
  }

  /// Passes empty lines and lines that begin with '#'; false at the end.
  bool skip_blank_lines() {
    while (at_ < text_.size()) {
      const std::size_t newline = std::min(text_.find('\n', at_), text_.size());
      const std::string_view whole = trim(text_.substr(at_, newline - at_));
      if (!whole.empty() && whole.front() != '#') return true;
      if (whole.empty() && separator_ == '\t' && newline > at_ && text_[at_] == '\t') return true;
      at_ = std::min(newline + 1, text_.size());
      ++line_;
    }
    return false;
  }

  Result<std::size_t> record() {
    std::size_t fields = 0;
    for (;;) {
      if (at_ < text_.size() && text_[at_] == '"') {
        PJ_CHECK(quoted_field());
      } else {
        const std::size_t end = std::min(find_field_end(), text_.size());
        std::size_t size = end - at_;
        // The CR of a CRLF is no part of the last field; one inside quotes is.
        const bool last = end >= text_.size() || text_[end] == '\n';
        if (last && size > 0 && text_[end - 1] == '\r') --size;
        std::memmove(table_.text_.data() + out_, table_.text_.data() + at_, size);
        out_ += size;
        at_ = end;
      }
      PJ_CHECK(end_field());
      ++fields;
      if (at_ >= text_.size()) return fields;
      if (text_[at_++] == '\n') {
        ++line_;
        return fields;
      }
    }
  }

  Outcome end_field() {
    const std::size_t end = out_ - row_begin_;
    if (end > std::numeric_limits<std::uint32_t>::max()) {
      return Error::out_of_range(
          fmt::format("{}: line {}: a row of more than 4 GiB", table_.name_, line_));
    }
    table_.ends_.push_back(static_cast<std::uint32_t>(end));
    return {};
  }

  std::size_t find_field_end() const {
    std::size_t i = at_;
    while (i < text_.size() && text_[i] != separator_ && text_[i] != '\n') ++i;
    return i;
  }

  Outcome quoted_field() {
    const std::size_t opened = line_;
    ++at_;
    for (;;) {
      if (at_ >= text_.size()) {
        return Error::invalid_argument(
            fmt::format("{}: line {}: a quote is opened and never closed", table_.name_, opened));
      }
      const char c = text_[at_++];
      if (c == '"') {
        if (at_ < text_.size() && text_[at_] == '"') {
          table_.text_[out_++] = '"';
          ++at_;
          continue;
        }
        break;
      }
      if (c == '\n') ++line_;
      table_.text_[out_++] = c;
    }
    if (at_ < text_.size() && text_[at_] == '\r' &&
        (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'))
      ++at_;
    if (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') {
      return Error::invalid_argument(
          fmt::format("{}: line {}: text after a closing quote", table_.name_, line_));
    }
    return {};
  }

  CsvTable table_;
  std::string_view text_;  ///< what is read: ahead of out_ the text as it came
  std::size_t at_ = 0;
  std::size_t out_ = 0;        ///< where the next cell's bytes go
  std::size_t row_begin_ = 0;  ///< where this row's cells begin
  std::size_t line_ = 1;
  char separator_ = ',';
};

Result<CsvTable> take_csv(std::string text, std::string_view name) {
  return CsvParser(std::move(text), name).parse();
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view name) {
  return take_csv(std::string(text), name);
}

Result<CsvTable> read_csv(const std::string& path) {
  PJ_TRY(std::string text, read_file(path));
  return take_csv(std::move(text), path);
}

std::string csv_field(std::string_view text) {
  // A leading '#', even behind blanks, would make the line a comment.
  const std::string_view core = trim(text);
  const bool comment = !core.empty() && core.front() == '#';
  if (!comment && text.find_first_of(",;\t\"\r\n") == std::string_view::npos)
    return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace perjoule

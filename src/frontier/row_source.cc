#include "frontier/row_source.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/text.h"

namespace perjoule {

std::optional<std::size_t> RowSource::find(std::string_view column) const {
  const auto& names = columns();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == column) return i;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (equals_ignoring_case(names[i], column)) return i;
  }
  return std::nullopt;
}

namespace {

class CsvRows final : public RowSource {
 public:
  explicit CsvRows(CsvTable table) : table_(std::move(table)) {}
  const std::string& name() const override { return table_.name(); }
  const std::vector<std::string>& columns() const override { return table_.columns(); }
  std::size_t rows() const override { return table_.rows(); }
  std::string_view text(std::size_t row, std::size_t column, std::string&) const override {
    return trim(table_.cell(row, column));
  }
  Result<double> number(std::size_t row, std::size_t column) const override {
    return table_.number(row, column);
  }
  std::size_t origin(std::size_t row) const override { return table_.line(row); }
  std::string where(std::size_t row, std::size_t column) const override {
    return fmt::format("{}: line {}, column '{}'", name(), table_.line(row), columns()[column]);
  }

 private:
  CsvTable table_;
};

class JsonRows final : public RowSource {
 public:
  JsonRows(Json document, std::string_view name) : document_(std::move(document)), name_(name) {}

  /// Finds the array and lays a pointer to every scalar into a table of rows by columns.
  Outcome index() {
    PJ_TRY(const Json::Array* array, find_array());
    std::unordered_map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < array->size(); ++i) {
      const Json& element = (*array)[i];
      if (!element.is_object()) {
        return Error::invalid_argument(
            fmt::format("{}: element {}: not an object of named figures", name_, i + 1));
      }
      cells_.resize(cells_.size() + columns_.size(), nullptr);
      row_begin_.push_back(cells_.size() - columns_.size());
      row_width_.push_back(columns_.size());
      add(element, "", known);
    }
    return {};
  }

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& columns() const override { return columns_; }
  std::size_t rows() const override { return row_begin_.size(); }
  std::string_view text(std::size_t row, std::size_t column, std::string& scratch) const override {
    const Json* json = cell(row, column);
    if (json == nullptr || json->is_null()) return {};
    if (const std::string* string = json->as_string()) return *string;
    if (const auto boolean = json->as_bool()) return *boolean ? "true" : "false";
    if (const auto integer = json->as_integer()) {
      scratch = std::to_string(*integer);
    } else {
      scratch = exact(json->as_number().value_or(0));
    }
    return scratch;
  }
  Result<double> number(std::size_t row, std::size_t column) const override {
    const Json* json = cell(row, column);
    if (json != nullptr) {
      if (const auto value = json->as_number()) return *value;
      // Figures in quotes are common enough to be read, and refused only when they are words.
      if (const std::string* string = json->as_string()) {
        if (const auto value = parse_number(trim(*string))) return *value;
      }
    }
    return Error::invalid_argument(
        json == nullptr
            ? where(row, column) + ": missing where a number is wanted"
            : fmt::format("{}: not a finite number: {}", where(row, column), json->dump()));
  }
  std::size_t origin(std::size_t row) const override { return row + 1; }
  std::string where(std::size_t row, std::size_t column) const override {
    return fmt::format("{}: element {}, member '{}'", name_, row + 1, columns_[column]);
  }

 private:
  static bool is_array_of_objects(const Json& json) {
    return json.as_array() != nullptr && !json.as_array()->empty() &&
           json.as_array()->front().is_object();
  }

  Result<const Json::Array*> find_array() const {
    if (const Json::Array* array = document_.as_array()) return array;
    const Json* found = nullptr;
    if (const Json::Object* object = document_.as_object()) {
      for (const auto& [key, value] : *object) {
        if (!is_array_of_objects(value)) continue;
        if (found != nullptr)
          return Error::invalid_argument(name_ + ": more than one member is an array of objects");
        found = &value;
      }
    }
    if (found == nullptr) {
      return Error::invalid_argument(name_ + ": no array of objects to read points from",
                                     "give an array of objects, alone or as a member of an object");
    }
    return found->as_array();
  }

  void add(const Json& object, const std::string& prefix,
           std::unordered_map<std::string, std::size_t>& known) {
    for (const auto& [key, value] : *object.as_object()) {
      if (value.is_array()) continue;
      if (value.is_object()) {
        add(value, prefix + key + ".", known);
        continue;
      }
      const auto [at, is_new] = known.try_emplace(prefix + key, columns_.size());
      if (is_new) columns_.push_back(prefix + key);
      // A column first seen in this row widens this row only; earlier rows stay short.
      if (at->second >= row_width_.back()) {
        row_width_.back() = at->second + 1;
        cells_.resize(row_begin_.back() + row_width_.back(), nullptr);
      }
      cells_[row_begin_.back() + at->second] = &value;
    }
  }

  const Json* cell(std::size_t row, std::size_t column) const {
    return column < row_width_[row] ? cells_[row_begin_[row] + column] : nullptr;
  }

  Json document_;
  std::string name_;
  std::vector<std::string> columns_;
  std::vector<const Json*> cells_;  ///< into document_
  std::vector<std::size_t> row_begin_;
  std::vector<std::size_t> row_width_;
};

}  // namespace

std::unique_ptr<RowSource> csv_rows(CsvTable table) {
  return std::make_unique<CsvRows>(std::move(table));
}

Result<std::unique_ptr<RowSource>> json_rows(Json document, std::string_view name) {
  auto rows = std::make_unique<JsonRows>(std::move(document), name);
  PJ_CHECK(rows->index());
  return std::unique_ptr<RowSource>(std::move(rows));
}

bool looks_like_json(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

Result<std::unique_ptr<RowSource>> parse_rows(std::string text, std::string_view name) {
  if (looks_like_json(text)) {
    Result<Json> document = parse_json(text);
    if (!document) return fail(document, name);
    return json_rows(std::move(*document), name);
  }
  PJ_TRY(CsvTable table, take_csv(std::move(text), name));
  return csv_rows(std::move(table));
}

}  // namespace perjoule

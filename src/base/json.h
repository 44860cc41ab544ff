// JSON as one small value type, so that no header drags a JSON library along; parsing and printing
// are done by nlohmann in json.cc.
//
//   Json run = Json::object();
//   run["schema"] = "perjoule.run.v1";
//   run["joules"] = 12.5;
//   std::string text = run.dump(2);
//   PJ_TRY(Json parsed, parse_json(text));
//   double j = parsed.number("joules").value_or(0);
//
// Objects keep the order of insertion. Numbers that are not finite print as null: JSON has no other
// word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace perjoule {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}                // NOLINT: values convert on purpose
  Json(bool value) : value_(value) {}    // NOLINT
  Json(double value) : value_(value) {}  // NOLINT
  Json(int value) : value_(static_cast<std::int64_t>(value)) {}            // NOLINT
  Json(std::int64_t value) : value_(value) {}                              // NOLINT
  Json(std::uint64_t value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT
  Json(const char* value) : value_(std::string(value)) {}                  // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}             // NOLINT
  Json(std::string value) : value_(std::move(value)) {}                    // NOLINT
  Json(Array value) : value_(std::move(value)) {}                          // NOLINT

  static Json object() {
    Json json;
    json.value_ = Object{};
    return json;
  }
  static Json array() { return Json(Array{}); }
  /// An object of these members, whose names must differ: O(1), where operator[] looks at each.
  static Json of(Object members) {
    Json json;
    json.value_ = std::move(members);
    return json;
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }

  /// The value itself, when it is of that kind.
  std::optional<double> as_number() const;
  std::optional<std::int64_t> as_integer() const;
  std::optional<bool> as_bool() const;
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }

  /// The member of that name, or null when this is no object or has none. O(members).
  const Json* find(std::string_view name) const;
  /// The member's value, when it is there and of that kind.
  std::optional<double> number(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<std::string> string(std::string_view name) const;

  /// The member of that name, made null if absent; turns a null value into an object.
  Json& operator[](std::string_view name);
  /// Appends; turns a null value into an array.
  void push_back(Json element);

  /// Text; indent < 0 gives one line.
  std::string dump(int indent = -1) const;

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

/// Parses one JSON text (RFC 8259). Errors name line and column. Nesting above 256 levels is
/// refused.
Result<Json> parse_json(std::string_view text);

}  // namespace perjoule

// Members of a JSON object by name and kind, for readers of others' formats. The first member that
// is of another kind, or missing where it is needed, is the error; one look at the end tells.
//
//   JsonFields fields(row, "chat.json: row 3");
//   result.power = fields.number<Watts>("avg_power_watts");
//   PJ_CHECK(fields.outcome());
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// The value at a path of members; null when there is none, or it is null. O(members).
const Json* find_at(const Json& from, std::initializer_list<std::string_view> path);
/// The text there, of a list its first element's; empty when there is none.
std::string text_at(const Json& from, std::initializer_list<std::string_view> path);
/// The number there; none of another kind.
std::optional<double> number_at(const Json& from, std::initializer_list<std::string_view> path);

class JsonFields {
 public:
  /// `where` names file and row. The object must outlive this.
  JsonFields(const Json& object, std::string where);

  /// Absent, or null: none.
  std::optional<double> number(std::string_view name);
  /// The same, times `factor` to SI, as a quantity.
  template <typename Q>
  std::optional<Q> number(std::string_view name, double factor = 1) {
    const auto value = number(name);
    return value ? std::optional<Q>(Q(*value * factor)) : std::nullopt;
  }
  /// A rate: a number, or the word "inf".
  std::optional<double> rate(std::string_view name);
  /// A latency, times `factor` to seconds. Tools write 0 where they had no sample: that is none.
  std::optional<Seconds> latency(std::string_view name, double factor);
  std::optional<std::int64_t> integer(std::string_view name);
  std::string text(std::string_view name);  ///< empty when absent
  /// An object; null when absent.
  const Json* object(std::string_view name);
  /// An array; null when absent.
  const Json::Array* array(std::string_view name);

  /// As above; absent is an error.
  double needed_number(std::string_view name);
  std::int64_t needed_integer(std::string_view name);
  std::string needed_text(std::string_view name);

  /// Adds an error of the caller's own, unless there is one.
  void refuse(std::string_view name, std::string_view wanted);
  Outcome outcome() const { return outcome_; }

 private:
  const Json* find(std::string_view name) const;
  void miss(std::string_view name);

  const Json& object_;
  std::string where_;
  Outcome outcome_;
};

}  // namespace perjoule

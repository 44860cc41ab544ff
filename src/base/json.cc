#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace perjoule {

std::optional<double> Json::as_number() const {
  if (const auto* real = std::get_if<double>(&value_)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value_))
    return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<std::int64_t> Json::as_integer() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) return *integer;
  return std::nullopt;
}

std::optional<bool> Json::as_bool() const {
  if (const auto* boolean = std::get_if<bool>(&value_)) return *boolean;
  return std::nullopt;
}

const Json* Json::find(std::string_view name) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

std::optional<double> Json::number(std::string_view name) const {
  const Json* member = find(name);
  return member != nullptr ? member->as_number() : std::nullopt;
}

std::optional<std::int64_t> Json::integer(std::string_view name) const {
  const Json* member = find(name);
  return member != nullptr ? member->as_integer() : std::nullopt;
}

std::optional<std::string> Json::string(std::string_view name) const {
  const Json* member = find(name);
  if (member == nullptr || member->as_string() == nullptr) return std::nullopt;
  return *member->as_string();
}

Json& Json::operator[](std::string_view name) {
  if (!is_object()) value_ = Object{};
  auto& object = std::get<Object>(value_);
  for (Member& member : object) {
    if (member.first == name) return member.second;
  }
  object.emplace_back(std::string(name), Json());
  return object.back().second;
}

void Json::push_back(Json element) {
  if (!is_array()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(element));
}

namespace {

using nlohmann::ordered_json;

ordered_json to_library(const Json& value) {
  if (const auto* array = value.as_array()) {
    ordered_json out = ordered_json::array();
    for (const Json& element : *array) out.push_back(to_library(element));
    return out;
  }
  if (const auto* object = value.as_object()) {
    // Filled as the vector it is: looking each name up would be quadratic, and they differ already.
    ordered_json::object_t members;
    members.reserve(object->size());
    for (const auto& [name, member] : *object) members.emplace_back(name, to_library(member));
    return ordered_json(std::move(members));
  }
  if (const auto* string = value.as_string()) return *string;
  if (const auto boolean = value.as_bool()) return *boolean;
  if (const auto integer = value.as_integer()) return *integer;
  if (const auto number = value.as_number()) return *number;
  return nullptr;
}

/// Builds our value from the library's parse events; keeps the depth in bounds.
class Builder {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return add(value <= kLargest ? Json(static_cast<std::int64_t>(value))
                                 : Json(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string& /*literal*/) { return add(Json(value)); }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(true); }
  bool start_array(std::size_t /*size*/) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    frames_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) {
    position_ = std::min(position, text_.size());
    // The library prefixes its id and its own coordinates; keep what follows them.
    const std::string_view what = error.what();
    const std::size_t colon = what.find(": ");
    message_ = std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
    return false;
  }

  Result<Json> take(bool parsed) {
    if (parsed && frames_.empty()) return std::move(root_);
    const std::string_view before = text_.substr(0, position_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t newline = before.rfind('\n');
    const std::size_t column =
        newline == std::string_view::npos ? position_ : position_ - newline - 1;
    return Error::invalid_argument(
        fmt::format("not JSON: line {}, column {}: {}", line, column, message_));
  }

 private:
  /// A container that is still open. Names seen are indexed once there are many, so that an object
  /// of 10^5 members is no way to keep us busy.
  struct Frame {
    bool is_object = false;
    Json::Object members = {};
    Json::Array elements = {};
    std::string key = {};
    std::unordered_map<std::string, std::size_t> index = {};

    /// Of a name given twice the last value counts.
    void add_member(Json value) {
      constexpr std::size_t kFew = 16;
      auto same = members.end();
      if (members.size() < kFew) {
        same = std::find_if(members.begin(), members.end(),
                            [this](const Json::Member& member) { return member.first == key; });
      } else {
        if (index.empty()) {
          for (std::size_t i = 0; i < members.size(); ++i) index.emplace(members[i].first, i);
        }
        const auto [at, is_new] = index.try_emplace(key, members.size());
        if (!is_new) same = members.begin() + static_cast<std::ptrdiff_t>(at->second);
      }
      if (same != members.end()) {
        same->second = std::move(value);
      } else {
        members.emplace_back(std::move(key), std::move(value));
      }
    }
  };

  bool add(Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (frames_.back().is_object) {
      frames_.back().add_member(std::move(value));
    } else {
      frames_.back().elements.push_back(std::move(value));
    }
    return true;
  }
  bool open(bool is_object) {
    if (frames_.size() >= 256) {
      message_ = "nested deeper than 256 levels";
      return false;
    }
    frames_.push_back(Frame{is_object});
    return true;
  }
  bool close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    return add(frame.is_object ? Json::of(std::move(frame.members))
                               : Json(std::move(frame.elements)));
  }

  std::string_view text_;
  std::vector<Frame> frames_;
  Json root_;
  std::size_t position_ = 0;
  std::string message_ = "unexpected end";
};

}  // namespace

std::string Json::dump(int indent) const {
  // Bytes that are not UTF-8 (a command's odd arguments) are replaced rather than thrown over.
  return to_library(*this).dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

Result<Json> parse_json(std::string_view text) {
  Builder builder(text);
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take(parsed);
}

}  // namespace perjoule

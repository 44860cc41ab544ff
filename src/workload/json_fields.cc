#include "workload/json_fields.h"

#include <fmt/format.h>

#include <limits>

namespace perjoule {

const Json* find_at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = &from;
  for (const std::string_view member : path) {
    at = at->find(member);
    if (at == nullptr || at->is_null()) return nullptr;
  }
  return at;
}

std::string text_at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = find_at(from, path);
  if (at == nullptr) return {};
  if (const Json::Array* list = at->as_array(); list != nullptr && !list->empty())
    at = &list->front();
  return at->as_string() == nullptr ? std::string() : *at->as_string();
}

std::optional<double> number_at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = find_at(from, path);
  return at == nullptr ? std::nullopt : at->as_number();
}

JsonFields::JsonFields(const Json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) outcome_ = Error::invalid_argument(where_ + ": not a JSON object");
}

const Json* JsonFields::find(std::string_view name) const {
  const Json* found = object_.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

void JsonFields::refuse(std::string_view name, std::string_view wanted) {
  if (!outcome_) return;
  outcome_ = Error::invalid_argument(fmt::format("{}: '{}' is not {}", where_, name, wanted));
}

void JsonFields::miss(std::string_view name) {
  if (!outcome_) return;
  outcome_ = Error::invalid_argument(fmt::format("{}: '{}' is missing", where_, name));
}

std::optional<double> JsonFields::number(std::string_view name) {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  const auto value = found->as_number();
  if (!value) refuse(name, "a number");
  return value;
}

std::optional<double> JsonFields::rate(std::string_view name) {
  const Json* found = find(name);
  const std::string* word = found == nullptr ? nullptr : found->as_string();
  if (word != nullptr && *word == "inf") return std::numeric_limits<double>::infinity();
  return number(name);
}

std::optional<Seconds> JsonFields::latency(std::string_view name, double factor) {
  const auto value = number<Seconds>(name, factor);
  return value && value->value() == 0 ? std::nullopt : value;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name) {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  const auto value = found->as_integer();
  if (!value) refuse(name, "a whole number");
  return value;
}

std::string JsonFields::text(std::string_view name) {
  const Json* found = find(name);
  if (found == nullptr) return {};
  if (const std::string* value = found->as_string()) return *value;
  refuse(name, "a text");
  return {};
}

const Json* JsonFields::object(std::string_view name) {
  const Json* found = find(name);
  if (found == nullptr || found->is_object()) return found;
  refuse(name, "an object");
  return nullptr;
}

const Json::Array* JsonFields::array(std::string_view name) {
  const Json* found = find(name);
  if (found == nullptr) return nullptr;
  if (found->as_array() == nullptr) refuse(name, "an array");
  return found->as_array();
}

double JsonFields::needed_number(std::string_view name) {
  const auto value = number(name);
  if (!value) miss(name);
  return value.value_or(0);
}

std::int64_t JsonFields::needed_integer(std::string_view name) {
  const auto value = integer(name);
  if (!value) miss(name);
  return value.value_or(0);
}

std::string JsonFields::needed_text(std::string_view name) {
  std::string value = text(name);
  if (value.empty()) miss(name);
  return value;
}

}  // namespace perjoule

#include "base/config.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"

namespace perjoule {

namespace {

constexpr std::size_t kLong = 255;  ///< a length byte that says that the length follows in decimal

/// One byte of length for what is short, as nearly all values are; with it, three short values fit
/// into a std::string without memory of its own.
void pack(std::string_view value, std::string& packed) {
  if (value.size() < kLong) {
    packed += static_cast<char>(value.size());
  } else {
    (packed += static_cast<char>(kLong)) += std::to_string(value.size()) + ":";
  }
  packed += value;
}

/// The value whose length stands at `at`, which is moved behind it.
std::string_view unpack(std::string_view packed, std::size_t& at) {
  std::size_t size = static_cast<unsigned char>(packed[at++]);
  if (size == kLong) {
    for (size = 0; packed[at] != ':'; ++at)
      size = 10 * size + static_cast<std::size_t>(packed[at] - '0');
    ++at;
  }
  const std::string_view value = packed.substr(at, size);
  at += size;
  return value;
}

Config::Names share(std::vector<std::string> names) {
  return std::make_shared<const std::vector<std::string>>(std::move(names));
}

}  // namespace

Setting Config::Iterator::operator*() const {
  std::size_t at = at_;
  return {(*config_->names_)[index_], unpack(config_->values_, at)};
}

Config::Iterator& Config::Iterator::operator++() {
  unpack(config_->values_, at_);
  ++index_;
  return *this;
}

Config::Config(const std::vector<Setting>& settings) {
  std::vector<std::string> names;
  std::vector<std::string_view> values;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const Setting& setting : settings) {
    const auto [at, is_new] = places.try_emplace(setting.name, names.size());
    if (is_new) {
      names.emplace_back(setting.name);
      values.push_back(setting.value);
    } else {
      values[at->second] = setting.value;
    }
  }
  if (!names.empty()) *this = Config(share(std::move(names)), values);
}

Config::Config(Names names, const std::vector<std::string_view>& values)
    : names_(std::move(names)) {
  std::size_t bytes = 0;
  for (const std::string_view value : values) bytes += value.size() + 1;
  values_.reserve(bytes);
  for (const std::string_view value : values) pack(value, values_);
}

void Config::set(std::string_view name, std::string_view value) {
  if (!find(name)) {
    std::vector<std::string> names = names_ ? *names_ : std::vector<std::string>();
    names.emplace_back(name);
    names_ = share(std::move(names));
    pack(value, values_);
    return;
  }
  std::string changed;
  for (const Setting setting : settings())
    pack(setting.name == name ? value : setting.value, changed);
  values_ = std::move(changed);
}

std::optional<std::string_view> Config::find(std::string_view name) const {
  for (const Setting setting : settings()) {
    if (setting.name == name) return setting.value;
  }
  return std::nullopt;
}

std::optional<double> Config::number(std::string_view name) const {
  const auto value = find(name);
  return value ? leading_number(*value) : std::nullopt;
}

std::string Config::text() const {
  std::string joined;
  for (const Setting setting : settings()) {
    if (!joined.empty()) joined += ", ";
    ((joined += setting.name) += " ") += setting.value;
  }
  return joined;
}

bool Config::operator==(const Config& other) const {
  if (values_ != other.values_ || size() != other.size()) return false;
  return names_ == other.names_ || (names_ && other.names_ && *names_ == *other.names_);
}

}  // namespace perjoule

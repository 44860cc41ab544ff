#include "cli/toml_words.h"

#include <fmt/format.h>

namespace perjoule::cli {

std::string toml_place(const std::string& name, const toml::node& node) {
  return fmt::format("{}:{}", name, node.source().begin.line);
}

std::optional<std::string> toml_word(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return std::nullopt;
}

Result<std::vector<std::string>> toml_values(const toml::node& node, const Option& option,
                                             const std::string& where) {
  const bool flag = option.value.empty();
  if (const auto* on = node.as_boolean(); flag && on != nullptr)
    return std::vector<std::string>{on->get() ? "true" : "false"};
  if (flag) return Error::invalid_argument(where + ": " + option.name + " is true or false");
  if (const auto word = toml_word(node)) return std::vector<std::string>{*word};
  std::vector<std::string> words;
  if (const auto* list = node.as_array(); list != nullptr && option.repeatable) {
    for (const toml::node& item : *list) {
      const auto word = toml_word(item);
      if (!word) return Error::invalid_argument(where + ": " + option.name + " lists words only");
      words.push_back(*word);
    }
    return words;
  }
  return Error::invalid_argument(
      fmt::format("{}: {} takes {}, as text or number", where, option.name, option.value));
}

}  // namespace perjoule::cli

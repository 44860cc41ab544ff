#include "cli/toml_tree.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

namespace perjoule::cli {
namespace {

TomlNode node_of(const toml::node& from, const std::string& name) {
  TomlNode node;
  node.place = fmt::format("{}:{}", name, from.source().begin.line);
  if (const auto* flag = from.as_boolean()) {
    node.kind = TomlNode::Kind::kFlag;
    node.word = flag->get() ? "true" : "false";
  } else if (const auto* text = from.as_string()) {
    node.kind = TomlNode::Kind::kWord;
    node.word = text->get();
  } else if (const auto* whole = from.as_integer()) {
    node.kind = TomlNode::Kind::kWord;
    node.word = std::to_string(whole->get());
  } else if (const auto* number = from.as_floating_point()) {
    node.kind = TomlNode::Kind::kWord;
    node.word = fmt::format("{}", number->get());
  } else if (const auto* list = from.as_array()) {
    node.kind = TomlNode::Kind::kList;
    for (const toml::node& item : *list) node.items.push_back(node_of(item, name));
  } else if (const auto* table = from.as_table()) {
    node.kind = TomlNode::Kind::kTable;
    // The library sorts them by name.
    std::vector<std::pair<std::pair<toml::source_index, toml::source_index>, TomlEntry>> placed;
    for (const auto& [key, value] : *table) {
      const toml::source_position begin = key.source().begin;
      placed.push_back(
          {{begin.line, begin.column}, {std::string(key.str()), node_of(value, name)}});
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [at, entry] : placed) node.entries.push_back(std::move(entry));
  }
  return node;
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view name) const {
  for (const TomlEntry& entry : entries) {
    if (entry.name == name) return &entry.node;
  }
  return nullptr;
}

Result<TomlNode> parse_toml(std::string_view text, const std::string& name) {
  try {
    return node_of(toml::parse(text, name), name);
  } catch (const toml::parse_error& error) {
    return Error::invalid_argument(
        fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
}

Result<std::vector<std::string>> option_words(const TomlNode& node, const Option& option) {
  using Kind = TomlNode::Kind;
  const bool is_flag = option.value.empty();
  if (is_flag && node.is(Kind::kFlag)) return std::vector<std::string>{node.word};
  if (is_flag)
    return Error::invalid_argument(node.place + ": " + option.name + " is true or false");
  if (node.is(Kind::kWord)) return std::vector<std::string>{node.word};
  if (node.is(Kind::kList) && option.repeatable) {
    std::vector<std::string> words;
    for (const TomlNode& item : node.items) {
      if (!item.is(Kind::kWord))
        return Error::invalid_argument(node.place + ": " + option.name + " lists words only");
      words.push_back(item.word);
    }
    return words;
  }
  return Error::invalid_argument(
      fmt::format("{}: {} takes {}, as text or number", node.place, option.name, option.value));
}

}  // namespace perjoule::cli

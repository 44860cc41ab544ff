#include "cli/toml_readers.h"

#include <fmt/format.h>

#include "base/text.h"

namespace perjoule::cli {

using Kind = TomlNode::Kind;

tl::unexpected<Error> refuse(const TomlNode& node, const std::string& what,
                             const std::string& hint) {
  return Error::invalid_argument(node.place + ": " + what, hint);
}

Outcome read_table(const TomlNode& table, const std::string& what, const TomlReaders& readers) {
  if (!table.is(Kind::kTable)) return refuse(table, fmt::format("{} is a table", what));
  for (const auto& [key, value] : table.entries) {
    const auto reader = readers.find(key);
    if (reader == readers.end()) {
      std::string known;
      for (const auto& [name, unused] : readers) known += (known.empty() ? "" : ", ") + name;
      return refuse(value, fmt::format("no key of {}: '{}'", what, key), "there are " + known);
    }
    PJ_CHECK(reader->second(value));
  }
  return {};
}

TomlReader text_into(std::string& to) {
  return [&to](const TomlNode& node) -> Outcome {
    if (!node.is(Kind::kWord) || node.word.empty()) return refuse(node, "a text is wanted");
    to = node.word;
    return {};
  };
}

TomlReader texts_into(std::vector<std::string>& to) {
  return [&to](const TomlNode& node) -> Outcome {
    to.clear();
    if (node.is(Kind::kWord)) to.push_back(node.word);
    for (const TomlNode& item : node.items) {
      if (!item.is(Kind::kWord)) return refuse(item, "a list of texts is wanted");
      to.push_back(item.word);
    }
    if (to.empty()) return refuse(node, "a text, or a list of texts, is wanted");
    return {};
  };
}

TomlReader time_into(Seconds& to, bool or_zero) {
  return [&to, or_zero](const TomlNode& node) -> Outcome {
    const auto time = node.is(Kind::kWord) ? parse_seconds(node.word)
                                           : Result<Seconds>(Error::invalid_argument(""));
    if (!time || !(or_zero ? time->value() >= 0 : time->value() > 0) || time->value() > 1e7)
      return refuse(node, fmt::format("a time {} 0 is wanted", or_zero ? "from" : "above"));
    to = *time;
    return {};
  };
}

TomlReader number_into(double& to, double least, double most) {
  return [&to, least, most](const TomlNode& node) -> Outcome {
    const auto value = node.is(Kind::kWord) ? parse_number(node.word) : std::nullopt;
    if (!value || *value < least || *value > most)
      return refuse(node, fmt::format("a number from {:g} to {:g} is wanted", least, most));
    to = *value;
    return {};
  };
}

TomlReader degree_into(int& to) {
  return [&to](const TomlNode& node) -> Outcome {
    const auto value = node.is(Kind::kWord) ? parse_integer(node.word) : std::nullopt;
    if (!value || *value < 1 || *value > 1024)
      return refuse(node, "a whole number from 1 to 1024 is wanted");
    to = static_cast<int>(*value);
    return {};
  };
}

TomlReader url_into(std::optional<HttpUrl>& to) {
  return [&to](const TomlNode& node) -> Outcome {
    auto url = HttpUrl::parse(node.word);
    if (!node.is(Kind::kWord) || !url)
      return refuse(node, url ? "a URL is wanted" : url.error().text());
    to = std::move(*url);
    return {};
  };
}

}  // namespace perjoule::cli

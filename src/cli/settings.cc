#include "cli/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "cli/toml_tree.h"

namespace perjoule::cli {
namespace {

constexpr const char* kFile = "perjoule.toml";

std::optional<std::string> file_to_read() {
  if (const char* named = std::getenv("PERJOULE_CONFIG")) {
    return *named == '\0' ? std::nullopt : std::optional<std::string>(named);
  }
  if (path_exists(kFile)) return kFile;
  const std::string home = environment("HOME");
  const std::string folder = environment("XDG_CONFIG_HOME", home.empty() ? "" : home + "/.config");
  const std::string path = folder + "/perjoule/" + kFile;
  return !folder.empty() && path_exists(path) ? std::optional<std::string>(path) : std::nullopt;
}

}  // namespace

Result<Settings> Settings::load(const std::vector<Verb>& verbs) {
  const auto path = file_to_read();
  if (!path) return Settings();
  Result<std::string> text = read_file(*path);
  if (!text) return fail(text, "configuration");
  return parse(*text, *path, verbs);
}

namespace {

/// Walks the tables of one file.
class Reader {
 public:
  explicit Reader(const std::vector<Verb>& verbs) : verbs_(verbs) {}

  using Tables = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

  /// `words` is the verb so far: "runs", then "runs list".
  Outcome read(const TomlNode& table, const std::string& words, Tables& out) const {
    const auto at = std::find_if(verbs_.begin(), verbs_.end(),
                                 [&](const Verb& verb) { return verb.name == words; });
    for (const auto& [name, node] : table.entries) {
      if (node.is(TomlNode::Kind::kTable)) {
        const std::string longer = words.empty() ? name : fmt::format("{} {}", words, name);
        if (!begins_a_verb(longer)) {
          return Error::invalid_argument(fmt::format("{}: no verb '{}'", node.place, longer),
                                         "a table is named after a verb: [run], [runs.list]");
        }
        PJ_CHECK(read(node, longer, out));
        continue;
      }
      if (at == verbs_.end()) {
        return Error::invalid_argument(
            fmt::format("{}: '{}' stands in no verb's table", node.place, name),
            "put it below its verb: [run]");
      }
      PJ_CHECK(read_option(*at, name, node, out));
    }
    return {};
  }

 private:
  bool begins_a_verb(const std::string& words) const {
    return std::any_of(verbs_.begin(), verbs_.end(), [&](const Verb& verb) {
      return verb.name == words || verb.name.rfind(words + " ", 0) == 0;
    });
  }

  Outcome read_option(const Verb& verb, const std::string& name, const TomlNode& node,
                      Tables& out) const {
    const auto at = std::find_if(verb.options.begin(), verb.options.end(),
                                 [&](const Option& option) { return option.name == name; });
    if (at == verb.options.end()) {
      return Error::invalid_argument(
          fmt::format("{}: perjoule {} has no option --{}", node.place, verb.name, name),
          fmt::format("perjoule {} --help lists them", verb.name));
    }
    PJ_TRY(out[verb.name][name], option_words(node, *at));
    return {};
  }

  const std::vector<Verb>& verbs_;
};

}  // namespace

Result<Settings> Settings::parse(std::string_view text, const std::string& name,
                                 const std::vector<Verb>& verbs) {
  Settings settings;
  PJ_TRY(const TomlNode root, parse_toml(text, name));
  PJ_CHECK(Reader(verbs).read(root, "", settings.tables_));
  return settings;
}

Result<std::vector<std::string>> Settings::find(const Verb& verb, const Option& option) const {
  const std::string variable = variable_of(verb.name, option.name);
  if (const char* value = std::getenv(variable.c_str()); value != nullptr && *value != '\0') {
    std::string word = value;
    if (option.value.empty()) {
      if (word == "1") word = "true";
      if (word == "0") word = "false";
      if (word != "true" && word != "false")
        return Error::invalid_argument(
            fmt::format("{}={}: neither true nor false", variable, word));
    }
    return std::vector<std::string>{word};
  }
  const auto table = tables_.find(verb.name);
  if (table == tables_.end()) return std::vector<std::string>();
  const auto at = table->second.find(option.name);
  return at == table->second.end() ? std::vector<std::string>() : at->second;
}

std::string variable_of(std::string_view verb, std::string_view option) {
  std::string name = fmt::format("PERJOULE_{}_{}", verb, option);
  for (char& letter : name) {
    letter = std::isalnum(static_cast<unsigned char>(letter)) != 0
                 ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter)))
                 : '_';
  }
  return name;
}

}  // namespace perjoule::cli

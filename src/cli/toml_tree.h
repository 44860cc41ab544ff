// A TOML text as a tree whose leaves are the words that a command line would hold.
//
//   PJ_TRY(const TomlNode root, parse_toml(text, "sweep.toml"));
//   if (const TomlNode* run = root.find("run")) ...        // run->place: "sweep.toml:3"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"

namespace perjoule::cli {

struct TomlEntry;

struct TomlNode {
  enum class Kind {
    kFlag,   ///< true or false, which `word` says
    kWord,   ///< a text or number
    kList,   ///< `items`
    kTable,  ///< `entries`, in the file's order
    kOther,  ///< a date or time
  };
  Kind kind = Kind::kOther;
  std::string word;
  std::vector<TomlNode> items;
  std::vector<TomlEntry> entries;
  std::string place;  ///< "sweep.toml:3", for messages

  bool is(Kind wanted) const { return kind == wanted; }
  /// Of a table; null where it has no such entry.
  const TomlNode* find(std::string_view name) const;
};

struct TomlEntry {
  std::string name;
  TomlNode node;
};

/// invalid_argument naming the line. O(bytes).
Result<TomlNode> parse_toml(std::string_view text, const std::string& name);

/// The words of an option: a flag's "true" or "false", of a repeatable one as many as are listed.
/// invalid_argument where the value is of another kind.
Result<std::vector<std::string>> option_words(const TomlNode& node, const Option& option);

}  // namespace perjoule::cli

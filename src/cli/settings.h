// Options that the command line leaves out: from the environment, else from perjoule.toml.
//
//   [sweep]                      # the table is the verb, the key its option without --
//   power-limit = "200:700:100"
//   repeat = 3
//
// The same by environment: PERJOULE_SWEEP_REPEAT=3. A flag of the command line wins over the
// environment, the environment over the file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"

namespace perjoule::cli {

class Settings {
 public:
  /// The file PERJOULE_CONFIG names; else perjoule.toml here; else that of the user's
  /// configuration folder ($XDG_CONFIG_HOME/perjoule or ~/.config/perjoule); else none.
  /// PERJOULE_CONFIG empty: none either. Errors: a file that cannot be read, is no TOML, or names a
  /// verb, an option or a kind of value that does not exist, each with its line.
  static Result<Settings> load(const std::vector<Verb>& verbs);
  /// What a text sets; `name` is what errors call it.
  static Result<Settings> parse(std::string_view text, const std::string& name,
                                const std::vector<Verb>& verbs);

  /// The values of an option, a flag's being "true" or "false"; empty where nothing is set.
  /// Errors: the environment's word for a flag is neither.
  Result<std::vector<std::string>> find(const Verb& verb, const Option& option) const;

 private:
  std::map<std::string, std::map<std::string, std::vector<std::string>>> tables_;
};

/// PERJOULE_RUNS_LIST_PROJECT for the option "project" of "runs list".
std::string variable_of(std::string_view verb, std::string_view option);

}  // namespace perjoule::cli

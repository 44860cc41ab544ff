// Values of a TOML file as the words that a command line would hold.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"

namespace perjoule::cli {

/// "perjoule.toml:12".
std::string toml_place(const std::string& name, const toml::node& node);

/// The text a command line would hold for a value; none where it could hold none.
std::optional<std::string> toml_word(const toml::node& node);

/// The words of an option: a flag's "true" or "false", of a repeatable one as many as are listed.
/// invalid_argument where the value is of another kind; `where` is for messages.
Result<std::vector<std::string>> toml_values(const toml::node& node, const Option& option,
                                             const std::string& where);

}  // namespace perjoule::cli

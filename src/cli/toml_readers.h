// Tables of a TOML file read key by key, with errors that name file, line and key.
//
//   std::string policy;
//   Seconds every;
//   PJ_CHECK(read_table(*root.find("fleet"), "[fleet]",
//                       {{"policy", text_into(policy)}, {"every", time_into(every)}}));
//
// What the readers write into must outlive them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cli/toml_tree.h"
#include "net/http_url.h"

namespace perjoule::cli {

using TomlReader = std::function<Outcome(const TomlNode&)>;
using TomlReaders = std::map<std::string, TomlReader>;

/// invalid_argument with the node's place before it.
tl::unexpected<Error> refuse(const TomlNode& node, const std::string& what,
                             const std::string& hint = "");

/// Each entry by its reader; another name is an error that lists them. `what` is what messages call
/// the table.
Outcome read_table(const TomlNode& table, const std::string& what, const TomlReaders& readers);

TomlReader text_into(std::string& to);
/// A text, or a list of them that is not empty.
TomlReader texts_into(std::vector<std::string>& to);
/// Above 0, or from it on.
TomlReader time_into(Seconds& to, bool or_zero = false);
TomlReader number_into(double& to, double least, double most);
/// A whole number from 1 to 1,024.
TomlReader degree_into(int& to);
TomlReader url_into(std::optional<HttpUrl>& to);

}  // namespace perjoule::cli

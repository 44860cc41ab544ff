// The file of tokens: a line of JSON each, of which only its SHA-256 is kept.
//
//   {"name":"grafana","role":"read","sha256":"9f86...","expires_unix":1798761600}
//
// A token is 32 random bytes behind "pj_"; it is shown once, when it is made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/principal.h"

namespace perjoule {

/// invalid_argument naming the line for what is no token, and for a name that comes twice.
Result<std::vector<TokenRecord>> parse_tokens(std::string_view text, const std::string& file);

/// permission_denied where others than its owner and group may read or write the file.
Result<std::vector<TokenRecord>> read_tokens(const std::string& file);

/// Makes a token, adds its record to the file, and answers the token. conflict where the name is
/// taken; the file is made for its owner alone. `expires_unix` of 0: never.
Result<std::string> add_token(const std::string& file, const std::string& name, Role role,
                              std::int64_t expires_unix);

/// Takes a name's record out; not_found where there is none.
Outcome remove_token(const std::string& file, const std::string& name);

}  // namespace perjoule

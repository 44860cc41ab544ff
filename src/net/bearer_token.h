// The token that servers ask for, from an environment variable: it stands in no file and no
// message.
#pragma once

#include <string>
#include <vector>

#include "net/http_head.h"

namespace perjoule {

/// Appends "Authorization: Bearer TOKEN" where the variable is set; nothing for an empty name or
/// value.
void add_bearer_token(const std::string& variable, std::vector<HttpField>& fields);

}  // namespace perjoule

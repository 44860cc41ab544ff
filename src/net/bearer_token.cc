#include "net/bearer_token.h"

#include "base/file.h"
#include "base/text.h"

namespace perjoule {

void add_bearer_token(const std::string& variable, std::vector<HttpField>& fields) {
  if (variable.empty()) return;
  const std::string token(trim(environment(variable.c_str())));
  if (!token.empty()) fields.push_back({"Authorization", "Bearer " + token});
}

}  // namespace perjoule

// What a request asks for: "/runs/a%20b?last=3" as its path's segments and its query's parameters.
//
//   PJ_TRY(const HttpTarget target, HttpTarget::parse("/runs/a%20b?last=3"));
//   target.segments;               // "runs", "a b"
//   target.parameter("last");      // "3"
//
// Strict, as RFC 3986 has it: what is no percent code, a code that stands for a control character,
// and bytes that must have been coded are refused. Segments are decoded after they are cut, so that
// a coded "/" is of a segment, and "." and ".." are refused however they are written: no target
// leads out of the folder that it names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_head.h"

namespace perjoule {

struct HttpTarget {
  std::string path;                   ///< as it came, without the query
  std::vector<std::string> segments;  ///< none for "/"; an empty one behind a last "/"
  std::vector<HttpField> parameters;  ///< in the target's order; a name may come again

  /// O(bytes). invalid_argument, and never longer than 8 KiB.
  static Result<HttpTarget> parse(std::string_view text);

  /// The first parameter of that name; null where there is none.
  const std::string* parameter(std::string_view name) const;
};

/// "a b" for "a%20b"; with `plus`, "+" stands for a space, as in queries.
Result<std::string> percent_decoded(std::string_view text, bool plus = false);
/// All bytes but letters, digits and "-._~" as their codes.
std::string percent_encoded(std::string_view text);

}  // namespace perjoule

// JSON as Python's json module writes it: NaN, Infinity and -Infinity may stand where a number is
// wanted, which JSON has no word for.
#pragma once

#include <string>
#include <string_view>

namespace perjoule {

/// The text with null in place of these words, but for those within strings. O(bytes).
std::string without_non_finite(std::string_view text);

}  // namespace perjoule

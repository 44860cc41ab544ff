#include "workload/python_json.h"

#include <array>

namespace perjoule {
namespace {

/// The length of the word that the text begins with, or 0.
std::size_t word_at(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords{"NaN", "-Infinity", "Infinity"};
  for (const std::string_view word : kWords) {
    if (text.substr(0, word.size()) == word) return word.size();
  }
  return 0;
}

}  // namespace

std::string without_non_finite(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool within = false;  // a string
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (within && text[i] == '\\' && i + 1 < text.size()) {
      out += text[i++];
    } else if (text[i] == '"') {
      within = !within;
    } else if (const std::size_t length = within ? 0 : word_at(text.substr(i)); length > 0) {
      out += "null";
      i += length - 1;
      continue;
    }
    out += text[i];
  }
  return out;
}

}  // namespace perjoule

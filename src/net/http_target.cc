#include "net/http_target.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::size_t kLongest = 8U << 10U;

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

/// Neither a control character nor a byte beyond ASCII.
bool is_plain(char c) { return c > ' ' && c < 0x7f; }

Outcome add_parameter(std::string_view text, HttpTarget& target) {
  const std::size_t equals = std::min(text.find('='), text.size());
  PJ_TRY(std::string name, percent_decoded(text.substr(0, equals), true));
  if (name.empty()) return Error::invalid_argument("a parameter of the query has no name");
  PJ_TRY(std::string value, percent_decoded(text.substr(std::min(equals + 1, text.size())), true));
  target.parameters.push_back({std::move(name), std::move(value)});
  return {};
}

template <typename Take>
Outcome for_each_part(std::string_view text, char between, const Take& take) {
  for (;;) {
    const std::size_t end = text.find(between);
    PJ_CHECK(take(text.substr(0, end)));
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Result<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!is_plain(text[i])) return Error::invalid_argument("a byte that must be percent-coded");
      decoded += plus && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const auto high = i + 1 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
    if (!high || !low) return Error::invalid_argument("a % without two hexadecimal digits");
    const int byte = *high * 16 + *low;
    if (byte < 0x20 || byte == 0x7f) {
      return Error::invalid_argument("a percent code of a control character");
    }
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4U];
    encoded += kDigits[byte & 0xfU];
  }
  return encoded;
}

Result<HttpTarget> HttpTarget::parse(std::string_view text) {
  if (text.size() > kLongest) {
    return Error::invalid_argument("a target of " + std::to_string(text.size()) +
                                   " bytes: at most 8192 are read");
  }
  if (text.empty() || text.front() != '/') {
    return Error::invalid_argument("a target does not begin with /");
  }
  HttpTarget target;
  const std::size_t question = text.find('?');
  target.path = text.substr(0, question);
  if (target.path.size() > 1) {
    PJ_CHECK(for_each_part(std::string_view(target.path).substr(1), '/',
                           [&](std::string_view part) -> Outcome {
                             PJ_TRY(std::string segment, percent_decoded(part));
                             if (segment == "." || segment == "..") {
                               return Error::invalid_argument("a target with \"" + segment + "\"");
                             }
                             target.segments.push_back(std::move(segment));
                             return {};
                           }));
  }
  if (question == std::string_view::npos || question + 1 == text.size()) return target;
  PJ_CHECK(for_each_part(text.substr(question + 1), '&', [&](std::string_view part) -> Outcome {
    return part.empty() ? Outcome() : add_parameter(part, target);
  }));
  return target;
}

const std::string* HttpTarget::parameter(std::string_view name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const HttpField& field) { return field.name == name; });
  return found == parameters.end() ? nullptr : &found->value;
}

}  // namespace perjoule

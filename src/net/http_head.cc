#include "net/http_head.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// RFC 9110, section 5.6.2: what names are made of.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

std::string_view without_space(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> number_of(std::string_view digits, std::uint64_t base) {
  if (digits.empty()) return {};
  std::uint64_t value = 0;
  for (const char c : digits) {
    int own = -1;
    if (is_digit(c)) own = c - '0';
    if (c >= 'a' && c <= 'f') own = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') own = c - 'A' + 10;
    if (own < 0) return {};
    const auto digit = static_cast<std::uint64_t>(own);
    if (digit >= base) return {};
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / base) return {};
    value = value * base + digit;
  }
  return value;
}

/// The words of all fields of that name, which may be lists: "Connection: keep-alive, close".
std::vector<std::string_view> words_of(const HttpHead& head, std::string_view name) {
  std::vector<std::string_view> words;
  for (const HttpField& field : head.fields) {
    if (!equals_ignoring_case(field.name, name)) continue;
    for (const std::string_view word : split(field.value, ',')) {
      if (const std::string_view bare = without_space(word); !bare.empty()) words.push_back(bare);
    }
  }
  return words;
}

bool has_word(const HttpHead& head, std::string_view name, std::string_view wanted) {
  const auto words = words_of(head, name);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return equals_ignoring_case(word, wanted); });
}

}  // namespace

const std::string* HttpHead::find(std::string_view name) const {
  for (const HttpField& field : fields) {
    if (equals_ignoring_case(field.name, name)) return &field.value;
  }
  return nullptr;
}

void HttpResponseParser::begin(bool is_to_head_request) {
  *this = HttpResponseParser(limits_);
  is_to_head_request_ = is_to_head_request;
}

void HttpResponseParser::fail(std::string problem) {
  state_ = State::kFailed;
  problem_ = std::move(problem);
}

std::string_view HttpResponseParser::read(std::string_view& bytes) {
  if (!bytes.empty() && !is_over()) has_begun_ = true;
  while (!bytes.empty() && !is_over()) {
    if (expected_ == Expected::kUntilEnd) return std::exchange(bytes, {});
    if (expected_ == Expected::kCounted || expected_ == Expected::kChunk)
      return read_counted(bytes);
    if (!take_line(bytes)) break;
    switch (expected_) {
      case Expected::kStatusLine:
        take_status_line();
        break;
      case Expected::kField:
        line_.empty() ? take_head_end() : take_field();
        break;
      case Expected::kChunkSize:
        take_chunk_size();
        break;
      case Expected::kChunkEnd:
        expected_ = Expected::kChunkSize;
        if (!line_.empty()) fail("a chunk is longer than its size says");
        break;
      default:  // a trailer
        if (line_.empty()) done();
    }
    line_.clear();
  }
  return {};
}

std::string_view HttpResponseParser::read_counted(std::string_view& bytes) {
  const std::size_t count = bytes.size() < left_ ? bytes.size() : static_cast<std::size_t>(left_);
  const std::string_view piece = bytes.substr(0, count);
  bytes.remove_prefix(count);
  left_ -= count;
  if (left_ == 0) {
    if (expected_ == Expected::kCounted) {
      done();
    } else {
      expected_ = Expected::kChunkEnd;
    }
  }
  return piece;
}

bool HttpResponseParser::take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string_view part = bytes.substr(0, end);
  const bool is_chunk_line = expected_ == Expected::kChunkSize || expected_ == Expected::kChunkEnd;
  const std::size_t line_room = limits_.line_bytes - line_.size();
  // Empty lines count, too, so that there is an end to interim responses.
  const std::size_t head_room = is_chunk_line ? line_room : limits_.head_bytes - head_bytes_;
  // Of the two limits the one that is reached first, however the bytes are cut.
  if (part.size() > line_room && line_room <= head_room) {
    fail("a line of the head is longer than " + std::to_string(limits_.line_bytes) + " bytes");
    return false;
  }
  const std::size_t counted = part.size() + (end == std::string_view::npos ? 0 : 1);
  if (!is_chunk_line && counted > head_room) {
    fail("the head is longer than " + std::to_string(limits_.head_bytes) + " bytes");
    return false;
  }
  if (!is_chunk_line) head_bytes_ += counted;
  line_ += part;
  if (end == std::string_view::npos) {
    bytes = {};
    return false;
  }
  bytes.remove_prefix(end + 1);
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  if (line_.find('\r') != std::string::npos || line_.find('\0') != std::string::npos) {
    fail("a CR or NUL stands inside a line of the head");
    return false;
  }
  return true;
}

void HttpResponseParser::take_status_line() {
  // HTTP/1.x SP 3DIGIT [SP reason]
  constexpr std::string_view kVersion = "HTTP/1.";
  constexpr std::size_t kCode = kVersion.size() + 2;
  const std::string_view line = line_;
  const bool is_shaped = line.size() >= kCode + 3 && line.substr(0, kVersion.size()) == kVersion &&
                         is_digit(line[kVersion.size()]) && line[kCode - 1] == ' ' &&
                         (line.size() == kCode + 3 || line[kCode + 3] == ' ');
  const auto status = is_shaped ? number_of(line.substr(kCode, 3), 10) : std::nullopt;
  if (!status || *status < 100) {
    fail("no HTTP/1.1 response: it begins with '" + line_.substr(0, 40) + "'");
    return;
  }
  is_http_1_1_ = line[kVersion.size()] != '0';
  head_.status = static_cast<int>(*status);
  head_.reason = line.size() > kCode + 4 ? line.substr(kCode + 4) : std::string_view();
  expected_ = Expected::kField;
}

void HttpResponseParser::take_field() {
  if (line_.front() == ' ' || line_.front() == '\t') {
    if (head_.fields.empty()) return fail("the head's first field begins with a space");
    head_.fields.back().value += ' ';
    head_.fields.back().value += without_space(line_);
    return;
  }
  const std::size_t colon = line_.find(':');
  if (colon == std::string::npos || !is_token(std::string_view(line_).substr(0, colon)))
    return fail("a field of the head has no name: '" + line_.substr(0, 40) + "'");
  head_.fields.push_back({line_.substr(0, colon),
                          std::string(without_space(std::string_view(line_).substr(colon + 1)))});
}

void HttpResponseParser::take_head_end() {
  if (head_.status == 101) return fail("the server changes to another protocol");
  if (head_.status < 200) {
    head_ = {};
    expected_ = Expected::kStatusLine;
    return;
  }
  head_.keeps_alive = is_http_1_1_ ? !has_word(head_, "connection", "close")
                                   : has_word(head_, "connection", "keep-alive");
  settle_body();
}

void HttpResponseParser::settle_body() {
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  if (is_to_head_request_ || head_.status == kNoContent || head_.status == kNotModified)
    return done();
  const auto codings = words_of(head_, "transfer-encoding");
  if (!codings.empty()) {
    if (codings.size() != 1 || !equals_ignoring_case(codings.front(), "chunked"))
      return fail("a transfer coding that is not chunked: '" + std::string(codings.front()) + "'");
    // A length beside it may be another reader's idea of where the response ends.
    if (head_.find("content-length") != nullptr) head_.keeps_alive = false;
    expected_ = Expected::kChunkSize;
    state_ = State::kBody;
    return;
  }
  if (head_.find("content-length") == nullptr) {
    head_.keeps_alive = false;
    expected_ = Expected::kUntilEnd;
    state_ = State::kBody;
    return;
  }
  if (!settle_length()) return fail("Content-Length is no one number");
  expected_ = Expected::kCounted;
  state_ = left_ == 0 ? State::kDone : State::kBody;
}

bool HttpResponseParser::settle_length() {
  std::optional<std::uint64_t> length;
  for (const HttpField& field : head_.fields) {
    if (!equals_ignoring_case(field.name, "content-length")) continue;
    for (const std::string_view word : split(field.value, ',')) {
      const auto one = number_of(without_space(word), 10);
      if (!one || (length && *length != *one)) return false;
      length = one;
    }
  }
  left_ = length.value_or(0);
  return length.has_value();
}

void HttpResponseParser::take_chunk_size() {
  const std::string_view line = line_;
  const auto size = number_of(without_space(line.substr(0, line.find(';'))), 16);
  if (!size) return fail("a chunk without a size: '" + line_.substr(0, 40) + "'");
  left_ = *size;
  head_bytes_ = 0;  // from here on it counts the trailers
  expected_ = left_ == 0 ? Expected::kTrailer : Expected::kChunk;
}

void HttpResponseParser::finish() {
  if (is_over()) return;
  if (expected_ == Expected::kUntilEnd) return done();
  is_cut_off_ = true;
  if (!has_begun_) return fail("the connection ended before a response began");
  fail(state_ == State::kHead ? "the connection ended within the head"
                              : "the connection ended within the body");
}

}  // namespace perjoule

#include "serving/stream/sse_parser.h"

#include <algorithm>

namespace perjoule {

void SseParser::clear() {
  bytes_ = {};
  line_.clear();
  type_.clear();
  data_.clear();
  has_only_ = is_dispatched_ = after_cr_ = too_long_ = false;
  is_first_line_ = true;
}

void SseParser::begin(std::string_view bytes) {
  bytes_ = bytes;
  lf_ = std::min(bytes_.find('\n'), bytes_.size());
  cr_ = std::min(bytes_.find('\r'), bytes_.size());
}

void SseParser::pass(std::size_t count) {
  bytes_.remove_prefix(count);
  lf_ -= count;
  cr_ -= count;
}

/// Where the next LF and the next CR stand is searched for once and kept until it is passed, so
/// that a byte is looked at twice at most.
void SseParser::pass_line_end() {
  (lf_ == 0 ? lf_ : cr_) = std::min(bytes_.find(lf_ == 0 ? '\n' : '\r', 1), bytes_.size());
  pass(1);
}

void SseParser::forget_dispatched() {
  if (!is_dispatched_) return;
  type_.clear();
  data_.clear();
  has_only_ = is_dispatched_ = false;
}

void SseParser::keep_only() {
  if (!has_only_) return;
  data_ = only_;
  data_ += '\n';
  has_only_ = false;
}

bool SseParser::next_event() {
  forget_dispatched();
  while (!too_long_ && !bytes_.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (lf_ == 0) {
        pass_line_end();
        continue;
      }
    }
    const std::string_view part = bytes_.substr(0, std::min(lf_, cr_));
    too_long_ = line_.size() + part.size() > longest_;
    if (too_long_) break;
    const bool has_end = part.size() < bytes_.size();
    pass(part.size());
    if (!has_end) {
      line_.append(part);
      break;
    }
    after_cr_ = cr_ == 0;
    pass_line_end();
    bool ends_event = false;
    if (line_.empty()) {
      ends_event = take_line(part, true);
    } else {
      line_.append(part);
      ends_event = take_line(line_, false);
      line_.clear();
    }
    if (ends_event && has_data()) return is_dispatched_ = true;
    if (ends_event) type_.clear();
  }
  keep_only();
  return false;
}

bool SseParser::end() {
  forget_dispatched();
  if (!too_long_ && !line_.empty()) take_line(line_, false);
  line_.clear();
  return is_dispatched_ = !too_long_ && has_data();
}

bool SseParser::take_line(std::string_view line, bool is_in_place) {
  if (is_first_line_) {
    is_first_line_ = false;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (line.substr(0, kByteOrderMark.size()) == kByteOrderMark)
      line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) return true;
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (field == "data") {
    if (is_in_place && !has_data()) {
      only_ = value;
      has_only_ = true;
      return false;
    }
    keep_only();
    if (data_.size() + value.size() > longest_) {
      too_long_ = true;
      return false;
    }
    data_.append(value);
    data_ += '\n';
  } else if (field == "event") {
    type_ = value;
  }
  return false;
}

}  // namespace perjoule

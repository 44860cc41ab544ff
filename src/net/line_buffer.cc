#include "net/line_buffer.h"

#include <algorithm>

namespace perjoule {

void LineBuffer::add(std::string_view bytes) {
  if (too_long_) return;
  bytes_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  bytes_.append(bytes);
}

std::optional<std::string_view> LineBuffer::next() {
  if (too_long_) return std::nullopt;
  const std::size_t end = bytes_.find('\n', searched_);
  const std::size_t until = std::min(end, bytes_.size());
  searched_ = until;
  if (until - begin_ > longest_) {
    too_long_ = true;
    return std::nullopt;
  }
  if (end == std::string::npos) return std::nullopt;
  const std::string_view line(bytes_.data() + begin_, end - begin_);
  begin_ = searched_ = end + 1;
  return line;
}

}  // namespace perjoule

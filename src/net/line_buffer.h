// Bytes as a connection brings them, taken apart into lines.
//
//   buffer.add(bytes);
//   while (const auto line = buffer.next()) answer(*line);
//   if (buffer.too_long()) hang_up();
//
// What it answers does not depend on how the bytes were cut into pieces. A line may hold any byte
// but its end, '\n'. A byte is looked at once, however many pieces its line comes in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace perjoule {

class LineBuffer {
 public:
  /// Lines of up to `longest` bytes are taken, their ends apart.
  explicit LineBuffer(std::size_t longest) : longest_(longest) {}

  void add(std::string_view bytes);
  /// The next whole line without its end, good until the next add(); none where there is none yet,
  /// or where it is too long.
  std::optional<std::string_view> next();
  /// The next line is longer than is taken: none will come any more.
  bool too_long() const { return too_long_; }

 private:
  std::size_t longest_;
  std::string bytes_;
  std::size_t begin_ = 0;     ///< of the line that comes next
  std::size_t searched_ = 0;  ///< no line ends between `begin_` and here
  bool too_long_ = false;
};

}  // namespace perjoule

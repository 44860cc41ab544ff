// Server-sent events: the bytes of a response's body, cut anywhere, into events, as the WHATWG HTML
// standard says in section 9.2.6.
//
//   parser.read(bytes, [&](const SseEvent& event) { stream.take(event, at); });
//   ...
//   parser.finish([&](const SseEvent& event) { stream.take(event, at); });   // at its end
//
// Lines end in LF, CR or CR LF; an empty one ends an event. Several `data` lines are joined with
// LF; comments (keep-alives), `id`, `retry` and unknown fields are read over; one byte-order mark
// may come first. An event comes with the read that completed it: with the CR of its empty line,
// whether or not an LF follows. What it answers does not depend on how the bytes were cut.
//
// Two departures, both for servers that end a stream without its last empty line: finish() gives
// what is left as an event where it has data, and its last line counts though it has no end. Bytes
// are handed on as they are: whether they are UTF-8 is for who reads the data.
//
// O(bytes). An event of one line of data that lies whole in the bytes is handed on where it lies,
// so that thousands of streams have no buffers that would have to come back into the cache. Else it
// allocates, only while its buffers grow to the longest line and event there are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perjoule {

/// Good until the parser is called again, and as long as the bytes it was read from.
struct SseEvent {
  std::string_view type;  ///< of its `event` field; empty where it has none
  std::string_view data;
};

class SseParser {
 public:
  /// Takes lines, and events' data, of up to `longest` bytes each.
  explicit SseParser(std::size_t longest) : longest_(longest) {}

  /// Calls take(SseEvent) for every event that these bytes complete.
  template <typename Take>
  void read(std::string_view bytes, Take&& take) {
    begin(bytes);
    while (next_event()) take(SseEvent{type_, data()});
  }
  /// The connection has ended: calls take(SseEvent) for what is left, where it has data.
  template <typename Take>
  void finish(Take&& take) {
    if (end()) take(SseEvent{type_, data()});
  }
  /// Forgets all, for another response.
  void clear();

  /// A line or an event's data was longer than is taken: no event comes any more.
  bool too_long() const { return too_long_; }

 private:
  void begin(std::string_view bytes);
  /// Whether there is one more event, in type_ and data_.
  bool next_event();
  bool end();
  void forget_dispatched();
  /// Steps over `count` bytes, none of which ends a line.
  void pass(std::size_t count);
  /// Steps over the line's end that comes next.
  void pass_line_end();
  /// Answers whether the line was empty, byte-order mark apart, and so ends an event.
  bool take_line(std::string_view line, bool is_in_place);
  bool has_data() const { return has_only_ || !data_.empty(); }
  std::string_view data() const {
    return has_only_ ? only_ : std::string_view(data_.data(), data_.size() - 1);
  }
  /// Takes the data into data_, as there is more of them than one line, or their bytes go.
  void keep_only();

  std::size_t longest_;
  std::string_view bytes_;  ///< of this read(), from the line on that comes next
  std::size_t lf_ = 0;      ///< where in bytes_ the next LF stands; bytes_.size() where none does
  std::size_t cr_ = 0;      ///< the same of CR
  std::string_view only_;   ///< of bytes_: the event's data so far, where that is one line
  bool has_only_ = false;   ///< ... and data_ is empty
  bool is_dispatched_ = false;  ///< type_, only_ and data_ are of the event that was given last
  bool after_cr_ = false;       ///< the last line ended in CR: an LF that follows belongs to it
  bool is_first_line_ = true;
  bool too_long_ = false;
  std::string line_;  ///< the beginning of a line whose end is still to come
  std::string data_;  ///< of the event so far, an LF behind each of its lines
  std::string type_;
};

}  // namespace perjoule

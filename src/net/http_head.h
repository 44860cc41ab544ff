// HTTP/1.1 responses (RFC 9112): bytes, cut anywhere, into a head and the pieces of a body.
//
//   HttpResponseParser parser;
//   while (!bytes.empty() && !parser.is_over()) {
//     const std::string_view piece = parser.read(bytes);      // steps over what it has read
//     if (!piece.empty()) body += piece;
//   }
//   if (parser.state() == HttpResponseParser::State::kDone) ...  // bytes: what follows it
//   ...
//   parser.finish();                                            // where the connection ends first
//
// Bodies are chunked, of a known length, or end with the connection; which one a response has is as
// section 6.3 says. Interim responses (1xx) and trailers are read over. A line ends with CR LF, or
// with LF alone. What is ambiguous is refused, not guessed: two lengths that differ, a length that
// is no number, a transfer coding that is not "chunked". Nothing is decompressed.
//
// The pieces are of the bytes that were given: a body is never copied. O(bytes); it allocates for
// heads alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perjoule {

struct HttpField {
  std::string name;
  std::string value;  ///< without surrounding space; a folded one with spaces for its line ends

  bool operator==(const HttpField&) const = default;
};

struct HttpHead {
  int status = 0;  ///< 200 to 999
  std::string reason;
  std::vector<HttpField> fields;
  bool keeps_alive = false;  ///< another request may follow on the connection

  /// The first field of that name, in any case; null where there is none.
  const std::string* find(std::string_view name) const;
};

struct HttpLimits {
  std::size_t head_bytes = 64U << 10U;  ///< of all heads together, and of a chunked body's trailers
  std::size_t line_bytes = 16U << 10U;  ///< a size of a chunk with what stands behind it, too
};

class HttpResponseParser {
 public:
  enum class State { kHead, kBody, kDone, kFailed };

  explicit HttpResponseParser(HttpLimits limits = {}) : limits_(limits) {}

  /// Begins another response. One to a HEAD request has no body, whatever its head says.
  void begin(bool is_to_head_request = false);

  /// Takes bytes from the front until it has a piece of the body, the response is over, or there
  /// are none left; answers the piece, or nothing. Bytes behind the response are left alone.
  std::string_view read(std::string_view& bytes);
  /// The connection has ended: done where that ends the body, else failed.
  void finish();

  State state() const { return state_; }
  bool is_over() const { return state_ == State::kDone || state_ == State::kFailed; }
  /// Whole once the state is no longer kHead.
  const HttpHead& head() const { return head_; }
  /// A byte of the response was seen.
  bool has_begun() const { return has_begun_; }
  /// Why it failed, in lower case; empty where it did not.
  const std::string& problem() const { return problem_; }
  /// It failed because the connection ended, not because of what was sent.
  bool is_cut_off() const { return is_cut_off_; }

 private:
  enum class Expected {
    kStatusLine,
    kField,
    kCounted,   ///< left_ bytes of a body of known length
    kUntilEnd,  ///< bytes until the connection ends
    kChunkSize,
    kChunk,  ///< left_ bytes of a chunk
    kChunkEnd,
    kTrailer,
  };

  std::string_view read_counted(std::string_view& bytes);
  /// Takes a line from the front, in line_. False where its end is still to come, or it failed.
  bool take_line(std::string_view& bytes);
  void take_status_line();
  void take_field();
  void take_head_end();
  void settle_body();
  bool settle_length();
  void take_chunk_size();
  void fail(std::string problem);
  void done() { state_ = State::kDone; }

  State state_ = State::kHead;
  Expected expected_ = Expected::kStatusLine;
  std::uint64_t left_ = 0;
  std::string line_;  ///< the line that comes in
  HttpLimits limits_;
  std::size_t head_bytes_ = 0;
  bool is_http_1_1_ = true;
  bool is_to_head_request_ = false;
  bool has_begun_ = false;
  bool is_cut_off_ = false;
  HttpHead head_;
  std::string problem_;
};

}  // namespace perjoule

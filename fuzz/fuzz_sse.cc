// Server-sent events: the first byte says in how large pieces the others come, the second how long
// a line may be. The events must be the same as in one piece, and none longer than is taken.
#include <cstdlib>
#include <string>
#include <vector>

#include "serving/stream/sse_parser.h"

namespace {

using namespace perjoule;

struct Answer {
  std::vector<std::string> events;
  bool too_long = false;
  bool operator==(const Answer&) const = default;
};

Answer answer_to(std::string_view text, std::size_t piece, std::size_t longest) {
  SseParser parser(longest);
  Answer answer;
  const auto take = [&](const SseEvent& event) {
    if (event.data.size() > longest || event.type.size() > longest) std::abort();
    answer.events.push_back(std::string(event.type) + '\n' + std::string(event.data));
  };
  for (std::size_t at = 0; at < text.size(); at += piece) {
    // A copy of its own, so that reading beyond the piece is seen.
    const std::string bytes(text.substr(at, piece));
    parser.read(bytes, take);
  }
  parser.finish(take);
  answer.too_long = parser.too_long();
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Answer whole = answer_to(text, text.size() + 1, data[1]);
  if (answer_to(text, 1 + data[0], data[1]) != whole || answer_to(text, 1, data[1]) != whole)
    std::abort();
  return 0;
}

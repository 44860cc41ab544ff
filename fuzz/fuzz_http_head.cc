// HTTP responses: the first byte says in how large pieces the others come, whether the request was
// HEAD and whether the connection ends behind them. What is read must be the same as in one piece,
// and no head larger than its limits.
#include <cstdlib>
#include <string>

#include "net/http_head.h"

namespace {

using namespace perjoule;

constexpr HttpLimits kLimits{.head_bytes = 512, .line_bytes = 128};

struct Answer {
  HttpResponseParser::State state = HttpResponseParser::State::kHead;
  int status = 0;
  std::vector<HttpField> fields;
  bool keeps_alive = false;
  std::string body;
  std::string problem;
  std::size_t taken = 0;
  bool operator==(const Answer&) const = default;
};

Answer answer_to(std::string_view text, std::size_t piece, bool is_head_request, bool ends) {
  HttpResponseParser parser(kLimits);
  parser.begin(is_head_request);
  Answer answer;
  for (std::size_t at = 0; at < text.size() && !parser.is_over(); at += piece) {
    // A copy of its own, so that reading beyond the piece is seen.
    const std::string copy(text.substr(at, piece));
    std::string_view bytes = copy;
    while (!bytes.empty() && !parser.is_over()) answer.body += parser.read(bytes);
    answer.taken = at + copy.size() - bytes.size();
  }
  if (ends) parser.finish();
  answer.state = parser.state();
  answer.problem = parser.problem();
  // What a head holds counts once it is whole.
  if (answer.state == HttpResponseParser::State::kBody ||
      answer.state == HttpResponseParser::State::kDone) {
    answer.status = parser.head().status;
    answer.fields = parser.head().fields;
    answer.keeps_alive = parser.head().keeps_alive;
    if (answer.status < 200 || answer.status > 999) std::abort();
  } else {
    // How far a failed one was read depends on the pieces.
    answer.taken = 0;
  }
  std::size_t size = 0;
  for (const HttpField& field : parser.head().fields)
    size += field.name.size() + field.value.size();
  if (size > kLimits.head_bytes) std::abort();
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1 + data[0] % 64;
  const bool is_head_request = (data[0] & 64U) != 0;
  const bool ends = (data[0] & 128U) != 0;
  const Answer whole = answer_to(text, text.size() + 1, is_head_request, ends);
  if (answer_to(text, piece, is_head_request, ends) != whole ||
      answer_to(text, 1, is_head_request, ends) != whole)
    std::abort();
  return 0;
}

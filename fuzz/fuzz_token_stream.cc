// What a server answers, from bytes to counts of tokens: the first byte says in how large pieces
// the others come, and whether a tokeniser is asked. Chunks must be in order, hold all tokens that
// are counted, and be the same however the bytes were cut.
#include <cstdlib>
#include <string>

#include "serving/stream/sse_parser.h"
#include "serving/stream/token_stream.h"

namespace {

using namespace perjoule;

ResponseEnd response_to(std::string_view text, std::size_t piece, bool has_tokenizer) {
  static StreamEventReader reader;
  TokenStreamOptions options;
  options.choices = 1 + text.size() % 2;
  if (has_tokenizer) {
    options.tokenizer = [](std::string_view words) {
      return static_cast<std::int64_t>(words.size() / 3);
    };
  }
  TokenStream stream(reader, options);
  SseParser parser(4096);
  Instant at;
  const auto take = [&](const SseEvent& event) { stream.take(event, at); };
  for (std::size_t begin = 0; begin < text.size(); begin += piece) {
    parser.read(text.substr(begin, piece), take);
    ++at.ns;
  }
  parser.finish(take);
  return stream.finish();
}

void check(const Response& response) {
  std::int64_t sum = 0;
  Instant before;
  for (const Chunk& chunk : response.chunks) {
    if (chunk.at < before) std::abort();
    before = chunk.at;
    sum += chunk.tokens;
  }
  const TokenCounts& tokens = response.tokens;
  if (response.last_chunk && sum != tokens.output) std::abort();
  if (tokens.reasoning < 0 || tokens.answer() < 0) std::abort();
  if (response.first_token && (*response.first_token < *response.first_chunk ||
                               *response.first_token > *response.last_chunk))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool has_tokenizer = data[0] % 2 == 1;
  const ResponseEnd whole = response_to(text, text.size() + 1, has_tokenizer);
  const ResponseEnd cut = response_to(text, 1 + data[0], has_tokenizer);
  check(whole.response);
  check(cut.response);
  if (whole.failure != cut.failure || whole.message != cut.message ||
      whole.response.tokens.output != cut.response.tokens.output ||
      whole.response.chunks.size() != cut.response.chunks.size() ||
      !(whole.response.flags == cut.response.flags))
    std::abort();

  StreamEventReader reader;
  TokenStream body(reader);
  body.take_body(text, Instant{1});
  check(body.finish().response);
  return 0;
}

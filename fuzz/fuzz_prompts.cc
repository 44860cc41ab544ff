// Prompts and lengths that others wrote: the first byte says as what the others are read. What is
// read must make requests whose bodies are JSON again.
#include <cstdlib>
#include <string>

#include "base/json.h"
#include "serving/load/request_set.h"
#include "serving/load/token_lengths.h"

namespace {

using namespace perjoule;

void check(const std::vector<Prompt>& prompts) {
  for (const Endpoint endpoint : {Endpoint::kChat, Endpoint::kCompletions}) {
    for (const Prompt& prompt : prompts) {
      const auto set = make_requests({prompt}, {.endpoint = endpoint, .model = "m"});
      if (!set) continue;  // of the other endpoint
      const auto body = parse_json(*set->requests.front().body);
      if (!body || !body->is_object() || body->string("model") != "m") std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int kind = data[0] % 4;
  if (kind == 0) {
    if (const auto prompts = prompts_of_jsonl(text, "a")) check(*prompts);
  } else if (kind == 1 || kind == 2) {
    if (const auto made = prompts_of_sharegpt(text, "a", kind == 2)) check(made->prompts);
  } else if (const auto lengths = lengths_of_azure_trace(text, "a")) {
    for (const TokenLengths& one : *lengths) {
      if (one.prompt < 0 || one.output < 0 || !one.arrival) std::abort();
    }
  }
  return 0;
}

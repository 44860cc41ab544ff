// What is asked of a server, whatever the endpoint: prompts from files of others, and made ones.
//
//   PJ_TRY(auto prompts, prompts_of_jsonl(text, "prompts.jsonl"));
//   prompts = drawn_prompts(std::move(prompts), 1024, seed);
//
// JSONL: an object a line, with `messages` (a chat) or `prompt` (a text, or a list of token ids);
// and, where they are known, `prompt_tokens` (or `input_length`), `output_tokens` (or `max_tokens`,
// `max_completion_tokens`, `output_length`) and `timestamp`, in seconds. ShareGPT: a list of
// objects with `conversations`, each of them a list of {"from", "value"}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace perjoule {

struct Prompt {
  std::string messages = {};  ///< of a chat, as JSON: a list; empty where there is none
  std::string text =
      {};  ///< for completions, as JSON: a string or a list of ids; may be empty, too
  std::optional<std::int64_t> prompt_tokens = {};  ///< as the file says
  std::optional<std::int64_t> output_tokens = {};  ///< of the answer in the file
  std::optional<Seconds> arrival = {};             ///< from any beginning
};

/// `name` is for messages, which carry the line. data_loss for a line that is no such object,
/// not_found for a file without any. O(bytes).
Result<std::vector<Prompt>> prompts_of_jsonl(std::string_view text, std::string_view name);

struct ShareGptPrompts {
  std::vector<Prompt> prompts;
  std::size_t skipped = 0;  ///< conversations without a question that has an answer
};
/// The first question of each conversation, or each question with what went before it
/// (`every_turn`), as ML.ENERGY has it; only those that have an answer. data_loss for what is no
/// such list, not_found where nothing is left. O(bytes), with every_turn times the turns.
Result<ShareGptPrompts> prompts_of_sharegpt(std::string_view text, std::string_view name,
                                            bool every_turn = false);

/// So many of them in random order; where there are fewer, all of them and then as many again as
/// are missing, each drawn from all. None where there are none. O(count).
std::vector<Prompt> drawn_prompts(std::vector<Prompt> prompts, std::size_t count,
                                  std::uint64_t seed);

}  // namespace perjoule

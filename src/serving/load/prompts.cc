#include "serving/load/prompts.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "math/random.h"

namespace perjoule {
namespace {

using Names = std::initializer_list<std::string_view>;

/// The first of the members that is there; an error where it is no count.
Result<std::optional<std::int64_t>> count_of(const Json& line, Names names) {
  for (const std::string_view name : names) {
    const Json* member = line.find(name);
    if (member == nullptr || member->is_null()) continue;
    const auto value = member->as_integer();
    if (!value || *value < 0)
      return Error::data_loss("'" + std::string(name) + "' is no count of tokens");
    return value;
  }
  return std::optional<std::int64_t>();
}

bool is_message(const Json& message) {
  return message.is_object() && message.string("role") && message.find("content") != nullptr;
}

bool is_list_of_ids(const Json& prompt) {
  const Json::Array* ids = prompt.as_array();
  return ids != nullptr && !ids->empty() &&
         std::all_of(ids->begin(), ids->end(),
                     [](const Json& id) { return id.is_integer() && *id.as_integer() >= 0; });
}

Result<Prompt> prompt_of(const Json& line) {
  if (!line.is_object()) return Error::data_loss("no JSON object");
  Prompt made;
  if (const Json* messages = line.find("messages")) {
    const Json::Array* list = messages->as_array();
    if (list == nullptr || list->empty() || !std::all_of(list->begin(), list->end(), is_message))
      return Error::data_loss("'messages' is no list of messages with role and content");
    made.messages = messages->dump();
  }
  if (const Json* text = line.find("prompt")) {
    if (!text->is_string() && !is_list_of_ids(*text))
      return Error::data_loss("'prompt' is neither a text nor a list of token ids");
    made.text = text->dump();
  }
  if (made.messages.empty() && made.text.empty())
    return Error::data_loss("neither 'messages' nor 'prompt'");
  PJ_TRY(made.prompt_tokens, count_of(line, {"prompt_tokens", "input_length"}));
  PJ_TRY(made.output_tokens,
         count_of(line, {"output_tokens", "max_completion_tokens", "max_tokens", "output_length"}));
  if (const Json* at = line.find("timestamp")) {
    if (!at->is_number()) return Error::data_loss("'timestamp' is no number of seconds");
    made.arrival = Seconds(*at->as_number());
  }
  return made;
}

/// The role that a speaker of ShareGPT's has; empty for one that has none.
std::string_view role_of(std::string_view speaker) {
  for (const std::string_view name : {"human", "user"})
    if (speaker == name) return "user";
  for (const std::string_view name : {"gpt", "assistant", "chatgpt", "bing", "bard"})
    if (speaker == name) return "assistant";
  return speaker == "system" ? "system" : "";
}

/// Adds the conversation's prompts; false where it has none.
bool take_conversation(const Json& conversation, bool every_turn, std::vector<Prompt>& prompts) {
  const Json* turns = conversation.find("conversations");
  const Json::Array* list = turns == nullptr ? nullptr : turns->as_array();
  if (list == nullptr) return false;
  Json history = Json::array();
  std::string question;
  bool found = false;
  for (const Json& turn : *list) {
    const auto value = turn.string("value");
    const std::string_view role = role_of(turn.string("from").value_or(""));
    if (!value || role.empty()) return found;
    if (role == "assistant" && !question.empty()) {
      prompts.push_back({.messages = history.dump(), .text = Json(question).dump()});
      found = true;
      if (!every_turn) return true;
    }
    question = role == "user" ? *value : "";
    Json message = Json::object();
    message["role"] = role;
    message["content"] = *value;
    history.push_back(std::move(message));
  }
  return found;
}

}  // namespace

Result<std::vector<Prompt>> prompts_of_jsonl(std::string_view text, std::string_view name) {
  std::vector<Prompt> prompts;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string where = std::string(name) + ": line " + std::to_string(number);
    const auto parsed = parse_json(line);
    if (!parsed) return Error::data_loss(where + ": no JSON: " + parsed.error().message);
    auto prompt = prompt_of(*parsed);
    if (!prompt) return fail(prompt, where);
    prompts.push_back(std::move(*prompt));
  }
  if (prompts.empty()) return Error::not_found("no prompt in " + std::string(name));
  return prompts;
}

Result<ShareGptPrompts> prompts_of_sharegpt(std::string_view text, std::string_view name,
                                            bool every_turn) {
  const auto parsed = parse_json(text);
  if (!parsed) return fail(parsed, name);
  const Json::Array* conversations = parsed->as_array();
  if (conversations == nullptr)
    return Error::data_loss(std::string(name) + ": no list of conversations");
  ShareGptPrompts made;
  for (const Json& conversation : *conversations) {
    if (!take_conversation(conversation, every_turn, made.prompts)) ++made.skipped;
  }
  if (made.prompts.empty())
    return Error::not_found("no question with an answer in " + std::string(name));
  return made;
}

std::vector<Prompt> drawn_prompts(std::vector<Prompt> prompts, std::size_t count,
                                  std::uint64_t seed) {
  if (prompts.empty()) return prompts;
  Random random(seed);
  const std::size_t own = prompts.size();
  // Fisher and Yates, as far as it is needed.
  for (std::size_t i = 0; i < std::min(count, own); ++i)
    std::swap(prompts[i], prompts[i + random.below(own - i)]);
  prompts.resize(std::min(count, own));
  prompts.reserve(count);
  while (prompts.size() < count) prompts.push_back(prompts[random.below(own)]);
  return prompts;
}

}  // namespace perjoule

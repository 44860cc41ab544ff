#include "twin/serve_engine.h"

#include <algorithm>
#include <utility>

#include "twin/serve_text.h"

namespace perjoule::twin {
namespace {

int blocks_for(int tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

/// How much of a text can be handed out when its last `held` bytes may yet become a stop text:
/// whole characters.
std::size_t safe_length(const std::string& text, std::size_t held) {
  if (text.size() <= held) return 0;
  std::size_t length = text.size() - held;
  while (length > 0 && length < text.size() &&
         (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
    --length;
  }
  return length;
}

std::size_t longest(const std::vector<std::string>& texts) {
  std::size_t length = 0;
  for (const std::string& text : texts) length = std::max(length, text.size());
  return length;
}

/// Where the first of the stop texts begins.
std::size_t find_stop(const std::string& text, const std::vector<std::string>& stops) {
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return first;
}

}  // namespace

int PrefixCache::look_up_and_add(const std::vector<std::uint32_t>& prompt) {
  // A hash of all that stands before a block's end names it: blocks that end alike differ.
  std::vector<std::uint64_t> blocks;
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, a token at a time
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    hash = (hash ^ prompt[i]) * 1099511628211ULL;
    if ((i + 1) % kBlockTokens == 0) blocks.push_back(hash);
  }
  std::size_t found = 0;
  while (found < blocks.size() && places_.count(blocks[found]) != 0) ++found;
  // From the last to the first: what everything else hangs on is forgotten last.
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) touch(*block);
  const auto tokens = static_cast<int>(found) * kBlockTokens;
  // The last token is computed in any case: the first of the answer comes out of it.
  return tokens == static_cast<int>(prompt.size()) ? std::max(0, tokens - kBlockTokens) : tokens;
}

void PrefixCache::touch(std::uint64_t block) {
  const auto place = places_.find(block);
  if (place != places_.end()) by_use_.erase(place->second);
  by_use_.push_front(block);
  places_[block] = by_use_.begin();
  if (places_.size() > most_) {
    places_.erase(by_use_.back());
    by_use_.pop_back();
  }
}

ServeEngine::ServeEngine(const EngineSettings& settings)
    : settings_(settings), prefixes_(settings.kv_blocks) {
  // What is let in alone must be able to end.
  const std::int64_t room = std::int64_t{settings.kv_blocks} * kBlockTokens;
  settings_.context_tokens =
      static_cast<int>(std::min<std::int64_t>(settings.context_tokens, room));
}

Result<SequenceId> ServeEngine::add(Generation generation, Instant now) {
  const std::size_t prompt = generation.prompt.size();
  const auto context = static_cast<std::size_t>(settings_.context_tokens);
  if (prompt == 0) return Error::invalid_argument("the prompt is empty");
  if (generation.max_tokens < 1) return Error::invalid_argument("max_tokens must be at least 1");
  if (generation.min_tokens < 0 || generation.min_tokens > generation.max_tokens) {
    return Error::invalid_argument("min_tokens must be from 0 to max_tokens");
  }
  if (prompt >= context || static_cast<std::size_t>(generation.max_tokens) > context - prompt) {
    return Error::invalid_argument("this model's maximum context length is " +
                                       std::to_string(context) + " tokens, and the request wants " +
                                       std::to_string(prompt) + " of prompt and " +
                                       std::to_string(generation.max_tokens) + " of answer",
                                   "shorten the prompt or lower max_tokens");
  }
  Sequence sequence;
  sequence.seed = answer_seed(generation.prompt, generation.salt);
  sequence.own_length = answer_length(sequence.seed);
  sequence.generation = std::move(generation);
  sequence.arrived = now;
  sequences_.emplace(++last_id_, std::move(sequence));
  waiting_.push_back(last_id_);
  return last_id_;
}

void ServeEngine::cancel(SequenceId id, Instant now) {
  if (sequences_.count(id) != 0) end(id, FinishReason::kAbort, now);
}

std::optional<EngineStep> ServeEngine::next_step(Instant now) {
  stepping_.clear();
  EngineStep step{.kind = StepKind::kPrefill};
  while (!waiting_.empty() && let_in(waiting_.front(), step, now)) {
    stepping_.push_back(waiting_.front());
    waiting_.pop_front();
  }
  if (stepping_.empty()) {
    step.kind = StepKind::kDecode;
    // Each needs room for its next token; those let in last go without.
    for (std::size_t i = 0; i < running_.size(); ++i) {
      while (i < running_.size() && !grow(sequences_.at(running_[i]))) preempt_last();
    }
    stepping_ = running_;
    step.tokens = static_cast<int>(running_.size());
  }
  if (stepping_.empty()) return std::nullopt;
  step.requests = static_cast<int>(stepping_.size());
  ++(step.kind == StepKind::kPrefill ? counters_.prefill_steps : counters_.decode_steps);
  return step;
}

/// Whether the request at the head of the queue is part of this prefill.
bool ServeEngine::let_in(SequenceId id, EngineStep& step, Instant now) {
  Sequence& sequence = sequences_.at(id);
  if (running_.size() >= static_cast<std::size_t>(settings_.max_num_seqs)) return false;
  // Room for the token to come, too.
  const int blocks = blocks_for(sequence.tokens() + 1);
  if (used_blocks_ + blocks > settings_.kv_blocks) return false;
  // Before the cache is asked: what is not let in now would be counted as looked up twice.
  if (step.tokens > 0 && step.tokens + sequence.tokens() > settings_.max_batched_tokens) {
    return false;
  }
  const int cached = prefixes_.look_up_and_add(sequence.generation.prompt);
  if (!sequence.scheduled) {
    sequence.scheduled = now;
    counters_.queue.add(now - sequence.arrived);
    counters_.prompt_tokens += sequence.generation.prompt.size();
    counters_.prefix_queries += sequence.generation.prompt.size();
    counters_.prefix_hits += static_cast<std::uint64_t>(cached);
  }
  step.tokens += sequence.tokens() - cached;
  sequence.blocks = blocks;
  used_blocks_ += blocks;
  running_.push_back(id);
  return true;
}

/// Makes room for one more token; false where there is none.
bool ServeEngine::grow(Sequence& sequence) {
  const int wanted = blocks_for(sequence.tokens() + 1);
  if (wanted <= sequence.blocks) return true;
  if (used_blocks_ + 1 > settings_.kv_blocks) return false;
  ++sequence.blocks;
  ++used_blocks_;
  return true;
}

void ServeEngine::preempt_last() {
  const SequenceId id = running_.back();
  running_.pop_back();
  release(sequences_.at(id));
  waiting_.push_front(id);
  ++counters_.preemptions;
}

void ServeEngine::release(Sequence& sequence) {
  used_blocks_ -= sequence.blocks;
  sequence.blocks = 0;
}

std::vector<TokenDelta> ServeEngine::finish_step(Instant now) {
  std::vector<TokenDelta> deltas;
  deltas.reserve(stepping_.size());
  for (const SequenceId id : std::exchange(stepping_, {})) {
    const auto found = sequences_.find(id);
    if (found == sequences_.end()) continue;
    stamp_token(found->second, now);
    const std::optional<FinishReason> finish = say_token(found->second);
    if (auto delta = hand_out(id, found->second, finish)) deltas.push_back(std::move(*delta));
    if (finish) end(id, *finish, now);
  }
  return deltas;
}

void ServeEngine::stamp_token(Sequence& sequence, Instant now) {
  if (sequence.generated == 0) {
    sequence.first_token = now;
    counters_.ttft.add(now - sequence.arrived);
  } else {
    counters_.itl.add(now - sequence.last_token);
  }
  sequence.last_token = now;
  ++counters_.generation_tokens;
}

std::optional<FinishReason> ServeEngine::say_token(Sequence& sequence) {
  const Generation& wanted = sequence.generation;
  const int place = sequence.generated++;
  ++sequence.unsent;
  const bool may_stop = sequence.generated >= wanted.min_tokens;
  const bool at_own_end = !wanted.ignore_eos && sequence.generated >= sequence.own_length;
  // The token that ends an answer has no text.
  if (at_own_end && may_stop) return FinishReason::kStop;
  sequence.text += piece_of(answer_token(sequence.seed, place));
  const std::size_t stop = may_stop ? find_stop(sequence.text, wanted.stop) : std::string::npos;
  if (stop != std::string::npos) {
    sequence.text.resize(stop);
    return FinishReason::kStop;
  }
  if (sequence.generated >= wanted.max_tokens) return FinishReason::kLength;
  return std::nullopt;
}

std::optional<TokenDelta> ServeEngine::hand_out(SequenceId id, Sequence& sequence,
                                                std::optional<FinishReason> finish) {
  const bool due = finish || sequence.generated == 1 ||
                   sequence.unsent >= std::max(1, settings_.tokens_per_chunk);
  if (!due) return std::nullopt;
  const std::size_t stop = longest(sequence.generation.stop);
  const std::size_t held = finish || stop == 0 ? 0 : stop - 1;
  const std::size_t length = safe_length(sequence.text, held);
  TokenDelta delta{id, sequence.text.substr(0, length), std::exchange(sequence.unsent, 0),
                   sequence.generated, finish};
  sequence.text.erase(0, length);
  return delta;
}

void ServeEngine::end(SequenceId id, FinishReason reason, Instant now) {
  Sequence& sequence = sequences_.at(id);
  ++counters_.finished[static_cast<std::size_t>(reason)];
  if (reason != FinishReason::kAbort) {
    counters_.e2e.add(now - sequence.arrived);
    counters_.prefill.add(sequence.first_token - *sequence.scheduled);
    counters_.decode.add(sequence.last_token - sequence.first_token);
    counters_.prompt_length.add(static_cast<double>(sequence.generation.prompt.size()));
    counters_.answer_length.add(sequence.generated);
  }
  release(sequence);
  std::erase(running_, id);
  std::erase(waiting_, id);
  sequences_.erase(id);
}

ServeGauges ServeEngine::gauges() const {
  ServeGauges gauges;
  gauges.running = static_cast<int>(running_.size());
  gauges.waiting = static_cast<int>(waiting_.size());
  if (settings_.kv_blocks > 0) {
    gauges.cache_usage = static_cast<double>(used_blocks_) / settings_.kv_blocks;
  }
  return gauges;
}

}  // namespace perjoule::twin

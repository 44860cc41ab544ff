// Continuous batching as an inference server schedules it, without the server: plain data and a
// clock that is passed in.
//
//   ServeEngine engine({.max_num_seqs = 64, .kv_blocks = 29043, .context_tokens = 131072});
//   PJ_TRY(const SequenceId id, engine.add({.prompt = tokens_of("hello"), .max_tokens = 5}, now));
//   while (const auto step = engine.next_step(now)) {
//     now = now + cost_of(*step);                       // serve_timing.h
//     for (const TokenDelta& delta : engine.finish_step(now)) send(delta.id, delta.text);
//   }
//
// Requests wait in the order they came. A step is either a prefill of those at the head that find a
// place in the running set and room in the KV cache, as many as a step's tokens allow, and gives
// each its first token; or, when none can be let in, a decode of all that run, which gives each one
// more. Where the cache has no block left for a token, the request let in last goes back to the
// head of the queue, without its blocks: its prompt and what it has said are prefilled anew.
//
// A request's tokens stand in blocks of 16. Full blocks of a prompt are remembered after they were
// let go, as many as the cache has, the least recently used forgotten first: a prompt that begins
// alike prefills only the rest. Blocks shared that way are counted for each request that has them
// (a real server counts them once), so the cache is never fuller than is shown.
//
// Not thread-safe: its driver holds a lock (serve_loop.h).
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "twin/serve_counters.h"

namespace perjoule::twin {

inline constexpr int kBlockTokens = 16;

struct EngineSettings {
  int max_num_seqs = 256;
  int max_batched_tokens = 8192;  ///< of one prefill step; a longer prompt has one to itself
  int kv_blocks = 0;              ///< of kBlockTokens tokens
  int context_tokens = 0;         ///< prompt and answer of one request
  int tokens_per_chunk = 1;       ///< handed out together, but for the first
};

/// One answer to be generated.
struct Generation {
  std::vector<std::uint32_t> prompt = {};
  int max_tokens = 16;
  int min_tokens = 0;       ///< until then neither the answer's own end nor `stop` ends it
  bool ignore_eos = false;  ///< it has no end of its own
  std::vector<std::string> stop = {};  ///< texts that end it, and are not part of it
  std::uint64_t salt = 0;              ///< other answers to the same prompt
};

using SequenceId = std::uint64_t;

enum class StepKind { kPrefill, kDecode };
struct EngineStep {
  StepKind kind = StepKind::kDecode;
  int requests = 0;
  int tokens = 0;  ///< to be computed: of prompts, less what the prefix cache had, or one a request
};

/// What one answer has gained.
struct TokenDelta {
  SequenceId id = 0;
  std::string text;      ///< whole characters; may be empty, where a stop text might be beginning
  int tokens = 0;        ///< since the last
  int total_tokens = 0;  ///< since the beginning
  std::optional<FinishReason> finish = {};
};

/// Blocks of prompts that were computed before, least recently used first out.
class PrefixCache {
 public:
  explicit PrefixCache(int blocks) : most_(static_cast<std::size_t>(blocks)) {}
  /// How many of the prompt's tokens it has, whole blocks and never all of them; then remembers the
  /// prompt. O(tokens).
  int look_up_and_add(const std::vector<std::uint32_t>& prompt);

 private:
  void touch(std::uint64_t block);

  std::size_t most_;
  std::list<std::uint64_t> by_use_;  ///< newest first; hashes of everything up to a block's end
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

class ServeEngine {
 public:
  /// The context is cut to what the KV cache can hold of one request.
  explicit ServeEngine(const EngineSettings& settings);

  /// Appends to the queue. invalid_argument where prompt and answer exceed the context, or an
  /// amount makes no sense; the message is fit for the client.
  Result<SequenceId> add(Generation generation, Instant now);
  /// The client has gone. Nothing where it is not known or has ended.
  void cancel(SequenceId id, Instant now);

  /// Decides what is computed next; none when there is nothing to do. O(running + let in).
  std::optional<EngineStep> next_step(Instant now);
  /// The step that was decided has ended. What was cancelled meanwhile gains nothing.
  std::vector<TokenDelta> finish_step(Instant now);

  const ServeCounters& counters() const { return counters_; }
  ServeGauges gauges() const;
  int context_tokens() const { return settings_.context_tokens; }

 private:
  struct Sequence {
    Generation generation;
    std::uint64_t seed = 0;
    int own_length = 0;  ///< tokens after which it ends by itself
    int generated = 0;
    int unsent = 0;
    int blocks = 0;
    std::string text;  ///< said and not yet handed out
    Instant arrived;
    std::optional<Instant> scheduled;  ///< first
    Instant first_token;
    Instant last_token;

    int tokens() const { return static_cast<int>(generation.prompt.size()) + generated; }
  };

  bool let_in(SequenceId id, EngineStep& step, Instant now);
  bool grow(Sequence& sequence);
  void preempt_last();
  void release(Sequence& sequence);
  void stamp_token(Sequence& sequence, Instant now);
  std::optional<FinishReason> say_token(Sequence& sequence);
  std::optional<TokenDelta> hand_out(SequenceId id, Sequence& sequence,
                                     std::optional<FinishReason> finish);
  void end(SequenceId id, FinishReason reason, Instant now);

  EngineSettings settings_;
  ServeCounters counters_;
  PrefixCache prefixes_;
  std::map<SequenceId, Sequence> sequences_;
  std::deque<SequenceId> waiting_;
  std::vector<SequenceId> running_;  ///< in the order they were let in
  std::vector<SequenceId> stepping_;
  SequenceId last_id_ = 0;
  int used_blocks_ = 0;
};

}  // namespace perjoule::twin

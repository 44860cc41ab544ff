// An inference engine with continuous batching and chunked prefill, simulated step by step.
//
//   Instance instance(model, {.most_running = 128, .step_tokens = 2048}, live, sink);
//   instance.advance(now);               // what it did until now
//   instance.take(slot);                 // queued; it starts with the next step that has room
//
// A step computes one token for each running request and, up to `step_tokens`, chunks of prompts:
// first of those that were begun, then of waiting ones, in their order, as long as there is room
// among the running ones and in the cache (as vLLM's scheduler does). Whose prompt is computed has
// its first token at that step's end. Where the cache runs over, the one admitted last goes back to
// the front of the queue and is computed anew (recomputation, as vLLM).
//
// Cost: O(1) a step and O(log running) a request. All running requests gain one token a step, so
// that the step in which a request ends is known when it joins and waits in a heap until then; the
// gaps between tokens go into histograms as the step's time, as often as there are running
// requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/units.h"
#include "fleet/engine/live_request.h"
#include "fleet/engine/step_model.h"
#include "fleet/traffic/load_class.h"

namespace perjoule {

struct EngineLimits {
  std::int64_t most_running = 256;  ///< vLLM's max_num_seqs
  std::int64_t step_tokens = 2048;  ///< vLLM's max_num_batched_tokens
};

/// The limits of a fleet's engines, whose steps may differ by layout.
struct LayoutLimits {
  EngineLimits every = {};
  std::vector<std::int64_t> step_tokens = {};  ///< by layout, over those of `every`; may be empty

  EngineLimits of(std::size_t layout) const {
    EngineLimits limits = every;
    if (layout < step_tokens.size()) limits.step_tokens = step_tokens[layout];
    return limits;
  }
};

/// Who hears what happens in engines. The request is released by whoever owns the slots, after
/// `ended` returns.
class EngineSink {
 public:
  virtual ~EngineSink() = default;
  /// So many requests of a class got a token that long after the one before.
  virtual void gaps(std::size_t load_class, Seconds gap, std::int64_t requests) = 0;
  /// The request in `slot` ended.
  virtual void ended(RequestSlot slot, RequestEnd end, Seconds when) = 0;
};

/// What an instance used, and for what.
struct EngineUse {
  Joules busy = {};
  Joules idle = {};
  Seconds busy_time = {};
  Seconds idle_time = {};
  std::int64_t steps = 0;
  std::int64_t prefill_tokens = 0;  ///< computed, those that were computed anew among them
  std::int64_t decode_tokens = 0;
  std::int64_t preemptions = 0;
};

/// Whether a request's tokens fit into an engine's cache all together.
inline bool fits_cache(const StepModel& model, std::int64_t prompt, std::int64_t output) {
  const std::int64_t cache = model.traits().cache_tokens;
  return prompt <= cache && output <= cache - prompt;
}

class Instance {
 public:
  /// `model`, `live` and `sink` must outlive it. It begins at `now`, idle, at the highest clock.
  Instance(const StepModel& model, EngineLimits limits, LiveRequests& live, EngineSink& sink,
           Seconds now);

  /// Queues a request. Its prompt and output have at least one token each.
  void take(RequestSlot slot);
  /// Does all steps that end by then. A step that does not is under way, and goes on with the next
  /// call. `until` never falls.
  void advance(Seconds until);
  /// From the next step on.
  void set_clock(std::size_t clock) { clock_ = clock; }
  std::size_t clock() const { return clock_; }

  /// What waits, taken out of the queue: it may go elsewhere.
  std::vector<RequestSlot> give_back_waiting();
  /// All, running ones first in the order of admission, the step under way given up: what was
  /// computed of them is lost, not the tokens they had. advance() was called with `now` before.
  std::vector<RequestSlot> give_back_all(Seconds now);
  /// One that decodes: it leaves, and what was computed of it is lost.
  void give_back(RequestSlot slot);
  /// Those that decode, in the order of admission, and how many tokens each has. O(running).
  template <typename Visit>
  void for_each_decoding(const Visit& visit) const {
    for (RequestSlot slot = first_; slot != kNoRequest; slot = live_[slot].after)
      if (live_[slot].join != 0) visit(slot, generated_by(live_[slot]));
  }
  /// Earliest deadline first, from now on until the next call with false.
  void order_by_deadline(bool wanted);

  bool fits(std::int64_t prompt, std::int64_t output) const {
    return fits_cache(model_, prompt, output);
  }
  std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  /// Prompt tokens that are still to be computed.
  std::int64_t waiting_tokens() const { return waiting_tokens_; }
  /// Those begun: being computed or decoding.
  std::int64_t running() const { return running_; }
  /// What a request would find before it, in prompt tokens: those that wait, and, as a running
  /// request takes a share of each step, some for each of them. Routing is by the least of it.
  double ahead() const {
    constexpr double kTokensOfRunning = 16;
    return static_cast<double>(waiting_tokens_) + kTokensOfRunning * static_cast<double>(running_);
  }
  std::int64_t cache_used() const { return context_ + reserved_; }
  bool is_idle() const { return running_ == 0 && waiting_.empty(); }
  const EngineUse& use() const { return use_; }
  const StepModel& model() const { return model_; }
  const std::deque<RequestSlot>& queue() const { return waiting_; }
  Seconds now() const { return Seconds(now_); }

 private:
  /// In which step a request ends; of no meaning once it left its joining.
  struct Ending {
    std::int64_t step;
    std::uint64_t join;
    RequestSlot slot;
    bool operator>(const Ending& other) const {
      return step != other.step ? step > other.step : join > other.join;
    }
  };

  bool begin_step();
  void end_step();
  void admit(std::int64_t& budget);
  void add_chunk(RequestSlot slot, std::int64_t& budget);
  void make_room();
  void pause(RequestSlot slot, double last_token);
  void finish_prompt(RequestSlot slot);
  void end_decodes();
  void link(RequestSlot slot);
  void unlink(RequestSlot slot);
  std::int64_t begins_with(const LiveRequest& request) const {
    return request.prompt + request.generated;
  }
  std::int64_t generated_by(const LiveRequest& request) const {
    return request.generated + (decode_step_ - request.joined_step);
  }

  const StepModel& model_;
  EngineLimits limits_;
  LiveRequests& live_;
  EngineSink& sink_;
  double now_;
  std::size_t clock_;

  std::deque<RequestSlot> waiting_;
  std::int64_t waiting_tokens_ = 0;
  bool by_deadline_ = false;
  RequestSlot first_ = kNoRequest;  ///< running ones in the order of admission
  RequestSlot last_ = kNoRequest;
  std::int64_t running_ = 0;
  std::int64_t decodes_ = 0;
  std::array<std::int64_t, kLoadClasses> decodes_of_ = {};
  std::int64_t context_ = 0;   ///< cache tokens of those that decode
  std::int64_t reserved_ = 0;  ///< and of those whose prompt is computed
  std::int64_t decode_step_ = 0;
  std::vector<Ending> endings_;  ///< a heap, earliest first

  bool in_step_ = false;
  double step_ends_ = 0;
  StepCost step_cost_ = {};
  std::vector<PrefillChunk> chunks_;
  std::vector<RequestSlot> chunk_slots_;
  std::vector<RequestSlot> begun_;  ///< prompts computed in part
  EngineUse use_;
};

}  // namespace perjoule

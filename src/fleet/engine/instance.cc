#include "fleet/engine/instance.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace perjoule {

std::string_view name_of(RequestEnd end) {
  switch (end) {
    case RequestEnd::kDone:
      return "done";
    case RequestEnd::kSquashed:
      return "squashed";
    case RequestEnd::kFailed:
      return "failed";
  }
  return "";
}

Instance::Instance(const StepModel& model, EngineLimits limits, LiveRequests& live,
                   EngineSink& sink, Seconds now)
    : model_(model),
      limits_(limits),
      live_(live),
      sink_(sink),
      now_(now.value()),
      clock_(model.highest_clock()) {}

void Instance::take(RequestSlot slot) {
  const LiveRequest& request = live_[slot];
  waiting_tokens_ += begins_with(request) - request.computed;
  if (!by_deadline_) {
    waiting_.push_back(slot);
    return;
  }
  const auto later = std::upper_bound(
      waiting_.begin(), waiting_.end(), slot,
      [this](RequestSlot a, RequestSlot b) { return live_[a].deadline < live_[b].deadline; });
  waiting_.insert(later, slot);
}

void Instance::order_by_deadline(bool wanted) {
  // Sorted anew each time: what was paused stands at the front.
  if (wanted) {
    std::stable_sort(waiting_.begin(), waiting_.end(), [this](RequestSlot a, RequestSlot b) {
      return live_[a].deadline < live_[b].deadline;
    });
  }
  by_deadline_ = wanted;
}

void Instance::advance(Seconds until) {
  const double end = until.value();
  for (;;) {
    if (in_step_) {
      if (step_ends_ > end) return;
      end_step();
    } else if (!begin_step()) {
      if (end <= now_) return;
      const Seconds rest(end - now_);
      use_.idle_time += rest;
      use_.idle += rest * model_.traits().idle[clock_];
      now_ = end;
      return;
    }
  }
}

bool Instance::begin_step() {
  make_room();
  chunks_.clear();
  chunk_slots_.clear();
  std::int64_t budget = std::max<std::int64_t>(0, limits_.step_tokens - decodes_);
  const std::int64_t most_prefill = budget;
  for (const RequestSlot slot : begun_) add_chunk(slot, budget);
  admit(budget);
  if (decodes_ == 0 && chunks_.empty()) return false;
  StepBatch batch;
  batch.decodes = decodes_;
  batch.context = context_;
  batch.prefill_tokens = most_prefill - budget;
  batch.sampled = decodes_;
  batch.chunks = chunks_;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const LiveRequest& request = live_[chunk_slots_[i]];
    if (request.computed + chunks_[i].tokens == begins_with(request)) ++batch.sampled;
  }
  step_cost_ = model_.cost(batch, clock_);
  step_ends_ = now_ + step_cost_.time.value();
  use_.prefill_tokens += batch.prefill_tokens;
  in_step_ = true;
  return true;
}

void Instance::add_chunk(RequestSlot slot, std::int64_t& budget) {
  if (budget == 0) return;
  const LiveRequest& request = live_[slot];
  const std::int64_t tokens = std::min(begins_with(request) - request.computed, budget);
  chunks_.push_back({tokens, request.computed});
  chunk_slots_.push_back(slot);
  budget -= tokens;
}

void Instance::admit(std::int64_t& budget) {
  while (budget > 0 && !waiting_.empty() && running_ < limits_.most_running) {
    const RequestSlot slot = waiting_.front();
    const std::int64_t tokens = begins_with(live_[slot]);
    // Room for its first token, and for one of each that decodes.
    if (context_ + reserved_ + tokens + 1 + decodes_ > model_.traits().cache_tokens) return;
    waiting_.pop_front();
    link(slot);
    reserved_ += tokens;
    begun_.push_back(slot);
    add_chunk(slot, budget);
  }
}

void Instance::make_room() {
  // The first one alone always has room: what does not fit into the whole cache is not taken.
  while (context_ + reserved_ + decodes_ > model_.traits().cache_tokens && last_ != first_) {
    const RequestSlot slot = last_;
    pause(slot, now_);
    ++use_.preemptions;
    waiting_.push_front(slot);
  }
}

void Instance::pause(RequestSlot slot, double last_token) {
  LiveRequest& request = live_[slot];
  if (request.join != 0) {
    request.generated = generated_by(request);
    request.join = 0;
    request.paused = Seconds(last_token);
    --decodes_;
    --decodes_of_[request.load_class];
    context_ -= begins_with(request);
    waiting_tokens_ += begins_with(request);
  } else {
    reserved_ -= begins_with(request);
    waiting_tokens_ += request.computed;
    begun_.erase(std::find(begun_.begin(), begun_.end(), slot));
  }
  request.computed = 0;
  unlink(slot);
}

void Instance::end_step() {
  in_step_ = false;
  now_ = step_ends_;
  ++use_.steps;
  use_.busy += step_cost_.energy;
  use_.busy_time += step_cost_.time;
  if (decodes_ > 0) {
    use_.decode_tokens += decodes_;
    context_ += decodes_;
    ++decode_step_;
    for (std::size_t i = 0; i < kLoadClasses; ++i)
      if (decodes_of_[i] > 0) sink_.gaps(i, step_cost_.time, decodes_of_[i]);
    end_decodes();
  }
  if (chunks_.empty()) return;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    live_[chunk_slots_[i]].computed += chunks_[i].tokens;
    waiting_tokens_ -= chunks_[i].tokens;
  }
  std::erase_if(begun_, [this](RequestSlot slot) {
    const LiveRequest& request = live_[slot];
    return request.computed == begins_with(request);
  });
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const LiveRequest& request = live_[chunk_slots_[i]];
    if (request.computed == begins_with(request)) finish_prompt(chunk_slots_[i]);
  }
}

void Instance::finish_prompt(RequestSlot slot) {
  LiveRequest& request = live_[slot];
  reserved_ -= begins_with(request);
  if (std::isnan(request.first_token.value())) {
    request.first_token = Seconds(now_);
  } else if (request.generated > 0) {
    sink_.gaps(request.load_class, Seconds(now_) - request.paused, 1);
  }
  ++request.generated;
  if (request.generated >= request.output) {
    unlink(slot);
    sink_.ended(slot, RequestEnd::kDone, Seconds(now_));
    return;
  }
  request.joined_step = decode_step_;
  request.join = live_.next_join();
  ++decodes_;
  ++decodes_of_[request.load_class];
  context_ += begins_with(request);
  endings_.push_back({decode_step_ + request.output - request.generated, request.join, slot});
  std::push_heap(endings_.begin(), endings_.end(), std::greater<>());
}

void Instance::end_decodes() {
  while (!endings_.empty() && endings_.front().step <= decode_step_) {
    const Ending ending = endings_.front();
    std::pop_heap(endings_.begin(), endings_.end(), std::greater<>());
    endings_.pop_back();
    LiveRequest& request = live_[ending.slot];
    if (request.join != ending.join) continue;  // it was paused since
    request.generated = request.output;
    request.join = 0;
    --decodes_;
    --decodes_of_[request.load_class];
    context_ -= begins_with(request);
    unlink(ending.slot);
    sink_.ended(ending.slot, RequestEnd::kDone, Seconds(now_));
  }
}

void Instance::link(RequestSlot slot) {
  LiveRequest& request = live_[slot];
  request.before = last_;
  request.after = kNoRequest;
  if (last_ == kNoRequest) {
    first_ = slot;
  } else {
    live_[last_].after = slot;
  }
  last_ = slot;
  ++running_;
}

void Instance::unlink(RequestSlot slot) {
  const LiveRequest& request = live_[slot];
  if (request.before == kNoRequest) {
    first_ = request.after;
  } else {
    live_[request.before].after = request.after;
  }
  if (request.after == kNoRequest) {
    last_ = request.before;
  } else {
    live_[request.after].before = request.before;
  }
  --running_;
}

void Instance::give_back(RequestSlot slot) {
  pause(slot, now_);
  waiting_tokens_ -= begins_with(live_[slot]);
}

std::vector<RequestSlot> Instance::give_back_waiting() {
  std::vector<RequestSlot> slots(waiting_.begin(), waiting_.end());
  for (const RequestSlot slot : slots)
    waiting_tokens_ -= begins_with(live_[slot]) - live_[slot].computed;
  waiting_.clear();
  return slots;
}

std::vector<RequestSlot> Instance::give_back_all(Seconds now) {
  const double last_token = now_;
  if (in_step_) {
    const double length = step_cost_.time.value();
    const double share = length > 0 ? std::clamp((now.value() - now_) / length, 0.0, 1.0) : 0;
    use_.busy += step_cost_.energy * share;
    use_.busy_time += step_cost_.time * share;
    in_step_ = false;
    now_ = now.value();
  }
  std::vector<RequestSlot> slots;
  while (first_ != kNoRequest) {
    slots.push_back(first_);
    pause(first_, last_token);
  }
  endings_.clear();
  const std::vector<RequestSlot> queued = give_back_waiting();
  slots.insert(slots.end(), queued.begin(), queued.end());
  waiting_tokens_ = 0;
  return slots;
}

}  // namespace perjoule

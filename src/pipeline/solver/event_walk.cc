#include "pipeline/solver/event_walk.h"

#include <algorithm>
#include <utility>

namespace perjoule {

using Arc = ResidualNetwork::Arc;
using Neighbour = ResidualNetwork::Neighbour;

void EventWalk::start(std::vector<Ticks> times) {
  time_ = std::move(times);
  for (std::uint32_t number = 0; number < net_.arcs(); ++number) settle(number);
}

void EventWalk::settle_all() {
  const Ticks moved = shift_ - settled_;
  if (moved == 0) return;
  for (std::uint32_t n = 0; n < net_.nodes(); ++n) {
    time_[n] -= trees_.of_source(n) ? 0 : moved;
  }
  settled_ = shift_;
  for (const std::uint32_t number : crossings_) {
    settle(number);
    for (const Half half : {2 * number, 2 * number + 1}) {
      if (net_.open(half)) trees_.note_meeting(half);
    }
  }
}

void EventWalk::list_crossing(std::uint32_t number) {
  Arc& arc = net_.arc(number);
  if (arc.listed == listing_ || !crosses(arc)) return;
  arc.listed = listing_;
  crossings_.push_back(number);
  const Ticks length = time(arc.to) - time(arc.from);
  const Ticks until = trees_.of_source(arc.from) ? net_.until_shorter_corner(number, length)
                                                 : net_.until_longer_corner(number, length);
  if (until != ResidualNetwork::kNever) events_.push_back({shift_ + until, number});
}

void EventWalk::list_crossings() {
  ++listing_;
  events_.clear();
  crossed_.swap(crossings_);
  crossings_.clear();
  for (const std::uint32_t number : crossed_) list_crossing(number);
  for (const std::uint32_t node : trees_.moved()) {
    const bool is_source = trees_.of_source(node);
    for (const Neighbour& neighbour : net_.neighbours(node)) {
      if (is_source != trees_.of_source(neighbour.node)) list_crossing(neighbour.half() >> 1);
    }
  }
  trees_.moved().clear();
  std::make_heap(events_.begin(), events_.end(), later);
}

bool EventWalk::advance(const std::function<bool(Ticks)>& before_move) {
  while (!trees_.may_meet()) {
    if (events_.empty()) return false;
    const Crossing next = events_.front();
    std::pop_heap(events_.begin(), events_.end(), later);
    events_.pop_back();
    const Arc& arc = net_.arc(next.arc);
    if (!crosses(arc)) continue;
    ++count_;
    const bool goes_on = before_move(next.event);
    shift_ = next.event;
    if (!goes_on) return false;
    settle(next.arc);
    const Half half = trees_.of_source(arc.from) ? 2 * next.arc : 2 * next.arc + 1;
    if (trees_.of_sink(net_.other(half))) {
      trees_.note_meeting(half);
      return true;
    }
    const std::span<const std::uint32_t> joined = trees_.reach(half);
    for (const std::uint32_t node : joined)
      time_[node] -= shift_ - settled_;  // it rests from now on
    for (const std::uint32_t node : joined) {
      for (const Neighbour& neighbour : net_.neighbours(node)) {
        const std::uint32_t number = neighbour.half() >> 1;
        if (trees_.of_source(neighbour.node)) {
          settle(number);  // it crossed until now, or both ends joined
        } else {
          const std::size_t before = events_.size();
          list_crossing(number);
          if (events_.size() > before) std::push_heap(events_.begin(), events_.end(), later);
        }
      }
    }
  }
  return true;
}

}  // namespace perjoule

#include "server/http/event_hub.h"

#include <utility>
#include <vector>

#include "base/text.h"

namespace perjoule {

EventHub::EventHub() : EventHub(Limits()) {}

Outcome EventHub::join(std::shared_ptr<ServerExchange> exchange,
                       std::optional<std::uint64_t> last_seen) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Error::unavailable("the daemon is ending");
  if (exchanges_.size() >= limits_.listeners) {
    return Error::unavailable("there are " + std::to_string(exchanges_.size()) +
                              " listeners already");
  }
  exchange->begin_stream({.content_type = "text/event-stream; charset=utf-8",
                          .fields = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
  // A number above ours is of a daemon before this one: such a listener has missed everything.
  const bool resumes = last_seen && *last_seen <= last_;
  for (const Event& event : events_) {
    const bool is_newest = &event == &events_.back();
    if (resumes ? event.number > *last_seen : is_newest) exchange->send(event.text);
  }
  const ServerExchange* const key = exchange.get();
  exchanges_[key] = std::move(exchange);
  return {};
}

std::optional<std::uint64_t> EventHub::number_of(std::string_view id) const {
  if (!identity_.empty()) {
    if (!id.starts_with(identity_ + "-")) return std::nullopt;
    id.remove_prefix(identity_.size() + 1);
  }
  const auto number = parse_integer(id);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

void EventHub::ended(const ServerExchange& exchange) {
  const std::lock_guard lock(mutex_);
  exchanges_.erase(&exchange);
}

void EventHub::publish(std::string_view event, std::string_view data) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = ++last_;
  std::string text =
      "id: " + (identity_.empty() ? "" : identity_ + "-") + std::to_string(number) + "\nevent: ";
  text.append(event).append("\ndata: ").append(data).append("\n\n");
  events_.push_back({number, shared_text(std::move(text))});
  if (events_.size() > limits_.kept) events_.pop_front();
  send_to_all(events_.back().text);
}

void EventHub::keep_alive() {
  static const SharedText kComment = shared_text(": alive\n\n");
  const std::lock_guard lock(mutex_);
  send_to_all(kComment);
}

void EventHub::send_to_all(const SharedText& text) {
  std::erase_if(exchanges_, [&](const auto& one) {
    if (one.second->send(text) <= limits_.lag_bytes) return false;
    one.second->end(true);
    ++dropped_;
    return true;
  });
}

void EventHub::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& [key, exchange] : exchanges_) exchange->end(false);
  exchanges_.clear();
}

std::size_t EventHub::listeners() const {
  const std::lock_guard lock(mutex_);
  return exchanges_.size();
}

std::uint64_t EventHub::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::uint64_t EventHub::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace perjoule

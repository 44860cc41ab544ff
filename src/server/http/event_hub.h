// Server-sent events: one text, many listeners.
//
//   EventHub hub;
//   hub.join(exchange, last_event_id);            // from any thread
//   hub.publish("picture", document);             // numbered from 1
//   hub.keep_alive();                             // now and then, so that who has gone is noticed
//
// Who comes back with the number of the last event that he saw gets what he missed, as far as it is
// still kept. Who lags by more than a bound is ended: he comes again, and misses some. An event is
// written once, and its text is shared by all. O(listeners) an event.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/route.h"

namespace perjoule {

class EventHub final : public StreamOwner {
 public:
  struct Limits {
    std::size_t kept = 60;              ///< events for those who come back
    std::size_t lag_bytes = 1U << 20U;  ///< of one listener
    std::size_t listeners = 10'000;
  };
  EventHub();
  /// `identity` tells this hub's events from those of a daemon before it.
  explicit EventHub(Limits limits, std::string identity = {})
      : limits_(limits), identity_(std::move(identity)) {}

  /// Begins the stream, with the newest event or all since that one. unavailable with too many
  /// listeners.
  Outcome join(std::shared_ptr<ServerExchange> exchange, std::optional<std::uint64_t> last_seen);
  /// The number behind an event's id; none where it is of another hub, or no id.
  std::optional<std::uint64_t> number_of(std::string_view id) const;
  void ended(const ServerExchange& exchange) override;

  /// `data` is one line.
  void publish(std::string_view event, std::string_view data);
  void keep_alive();
  /// The daemon ends: all streams do.
  void close();

  std::size_t listeners() const;
  std::uint64_t last() const;
  std::uint64_t dropped() const;  ///< listeners that lagged

 private:
  struct Event {
    std::uint64_t number = 0;
    SharedText text;
  };
  void send_to_all(const SharedText& text);

  const Limits limits_;
  const std::string identity_;
  mutable std::mutex mutex_;  // what follows
  std::map<const ServerExchange*, std::shared_ptr<ServerExchange>> exchanges_;
  std::deque<Event> events_;
  std::uint64_t last_ = 0;
  std::uint64_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace perjoule

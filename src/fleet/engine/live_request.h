// The requests that are in the fleet at this moment, wherever they are.
//
//   LiveRequests live;
//   const RequestSlot slot = live.add({.arrival = now, .prompt = 1020, .output = 129});
//   instance.take(slot);                 // and, once it ended: live.release(slot)
//
// Memory is of the most that were alive at the same time: slots are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace perjoule {

using RequestSlot = std::uint32_t;
inline constexpr RequestSlot kNoRequest = std::numeric_limits<RequestSlot>::max();

/// How a request ended; every one ends in exactly one way.
enum class RequestEnd : std::uint8_t {
  kDone,
  kSquashed,  ///< given up, as its deadline could no longer be met or nothing could take it
  kFailed,    ///< it has no tokens, or more than any instance's cache holds
};
std::string_view name_of(RequestEnd end);

struct LiveRequest {
  Seconds arrival = {};
  Seconds first_token = Seconds(std::numeric_limits<double>::quiet_NaN());
  Seconds deadline = {};         ///< of its first token
  std::uint64_t number = 0;      ///< in the order of arrival
  std::int64_t prompt = 0;       ///< tokens
  std::int64_t output = 0;       ///< tokens it will have; its instance does not know
  std::int64_t computed = 0;     ///< of what it begins with: the prompt, and tokens it had before
  std::int64_t generated = 0;    ///< when it last joined the running ones
  std::int64_t joined_step = 0;  ///< the instance's count of decode steps then; see Instance
  std::uint64_t join = 0;        ///< which joining of all it was; 0 while it does not decode
  Seconds paused = {};           ///< since when it does not, having had tokens before
  RequestSlot before = kNoRequest;  ///< in the order of admission
  RequestSlot after = kNoRequest;
  std::uint16_t pool = 0;       ///< that it was routed to
  std::uint8_t load_class = 0;  ///< what it turns out to be
  std::uint8_t predicted_class = 0;
};

class LiveRequests {
 public:
  RequestSlot add(const LiveRequest& request) {
    if (free_.empty()) {
      slots_.push_back(request);
      return static_cast<RequestSlot>(slots_.size() - 1);
    }
    const RequestSlot slot = free_.back();
    free_.pop_back();
    slots_[slot] = request;
    return slot;
  }
  /// A number that no joining of any request had before.
  std::uint64_t next_join() { return ++joins_; }
  void release(RequestSlot slot) { free_.push_back(slot); }
  LiveRequest& operator[](RequestSlot slot) { return slots_[slot]; }
  const LiveRequest& operator[](RequestSlot slot) const { return slots_[slot]; }
  std::size_t alive() const { return slots_.size() - free_.size(); }
  /// The most that were alive at the same time.
  std::size_t most() const { return slots_.size(); }

 private:
  std::vector<LiveRequest> slots_;
  std::vector<RequestSlot> free_;
  std::uint64_t joins_ = 0;
};

}  // namespace perjoule

// A server for the benchmarks of the stream path: a process of its own that takes so many requests
// and then sends them chunks, in turn, at an even rate; one round after another.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace perjoule::bench {

struct StreamPlan {
  std::size_t streams = 4096;
  std::size_t chunks_per_second = 50'000;  ///< of all streams together
  std::size_t chunks_per_stream = 30;
  /// Before the first chunk and behind the last one, so that what is measured between them is
  /// streaming alone.
  Seconds quiet = Seconds(0.2);

  std::size_t chunks() const { return streams * chunks_per_stream; }
};

/// What both processes see of a round.
class StreamRound {
 public:
  const StreamPlan& plan() const { return plan_; }
  /// 0 while it waits for requests, 1 while it sends, 2 once the last chunk is sent; the responses
  /// end a moment later.
  int phase() const { return phase_->load(); }
  /// Sleeps until the next phase, without looking at the clock meanwhile. By one thread alone.
  void wait_for_next_phase() const;
  /// When that chunk of that stream was handed to the socket.
  Instant sent_at(std::size_t stream, std::size_t chunk) const {
    return Instant{stamps_[stream * plan_.chunks_per_stream + chunk]};
  }
  /// Chunks a second from the first one's sending to the last one's: less than planned where the
  /// sender could not keep up.
  double rate() const;

 private:
  friend class StreamSender;
  StreamPlan plan_;
  std::atomic<int>* phase_ = nullptr;
  std::int64_t* stamps_ = nullptr;
  int phases_ = -1;  ///< a pipe that brings a byte for each new one
};

class StreamSender {
 public:
  /// Forks: before there are threads, and before there is memory that its copy-on-write would slow
  /// down. The streams' requests say which they are by a prompt "p17". Client and sender each have
  /// a processor of their own where the machine has two, as each has a machine of its own
  /// elsewhere.
  explicit StreamSender(const std::vector<StreamPlan>& rounds);
  /// Ends the process.
  ~StreamSender();
  StreamSender(const StreamSender&) = delete;
  StreamSender& operator=(const StreamSender&) = delete;

  std::uint16_t port() const { return port_; }
  /// The round that is next; once each, and after the end of the one before. To be called before
  /// its first connection.
  const StreamRound& begin(std::size_t round) const {
    next_->store(round);
    return rounds_[round];
  }
  const StreamRound& round(std::size_t index) const { return rounds_[index]; }
  std::size_t rounds() const { return rounds_.size(); }

 private:
  [[noreturn]] void serve(int listening) const;
  void next_phase(const StreamRound& round, int phase) const;

  std::vector<StreamRound> rounds_;
  std::uint16_t port_ = 0;
  pid_t process_ = 0;
  void* memory_ = nullptr;  ///< that both processes see
  std::atomic<std::size_t>* next_ = nullptr;
  std::size_t size_ = 0;
  int phases_in_ = -1;  ///< pipes' ends, the sender's and ours
  int phases_out_ = -1;
};

/// How many bytes of a response's body have come, chunked coding included, when `chunks` are whole.
std::size_t stream_bytes(std::size_t chunks);
/// What stands before them.
std::size_t stream_head_bytes();

}  // namespace perjoule::bench

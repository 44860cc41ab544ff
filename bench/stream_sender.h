// A server for the benchmark of the stream path: a process of its own that takes so many requests
// and then sends them chunks, in turn, at an even rate.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace perjoule::bench {

struct StreamPlan {
  std::size_t streams = 4096;
  std::size_t chunks_per_second = 50'000;  ///< of all streams together
  std::size_t chunks_per_stream = 50;
};

class StreamSender {
 public:
  /// Forks: before there are threads. The streams' requests say which they are by a prompt "p17".
  explicit StreamSender(const StreamPlan& plan);
  /// Waits for the process to end.
  ~StreamSender();
  StreamSender(const StreamSender&) = delete;
  StreamSender& operator=(const StreamSender&) = delete;

  std::uint16_t port() const { return port_; }
  /// 0 while it waits for requests, 1 while it sends, 2 once the last chunk is sent; the responses
  /// end a moment later.
  int phase() const { return shared_->phase.load(); }
  /// When that chunk of that stream was handed to the socket.
  Instant sent_at(std::size_t stream, std::size_t chunk) const {
    return Instant{stamps_[stream * plan_.chunks_per_stream + chunk]};
  }

 private:
  struct alignas(64) Shared {
    std::atomic<int> phase = 0;
  };
  [[noreturn]] void give_up() const;
  [[noreturn]] void serve(int listening) const;
  void take_requests(int listening, int* sockets) const;
  void send_chunks(const int* sockets) const;

  StreamPlan plan_;
  std::uint16_t port_ = 0;
  pid_t process_ = 0;
  std::size_t size_ = 0;  ///< of the memory that both processes see
  Shared* shared_ = nullptr;
  std::int64_t* stamps_ = nullptr;
};

}  // namespace perjoule::bench

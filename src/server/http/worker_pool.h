// A few threads for what may wait: the server's own must not.
//
//   WorkerPool workers(2, 256);
//   if (!workers.post([...] { exchange->answer(...); })) ...      // too much is waiting already
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace perjoule {

class WorkerPool {
 public:
  /// `most` may wait at once.
  WorkerPool(unsigned threads, std::size_t most);
  /// Waits for what is being done; what waits is dropped.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False, and nothing is done, where too much waits.
  bool post(std::function<void()> work);

 private:
  void run(const std::stop_token& stop);

  const std::size_t most_;
  std::mutex mutex_;  // of what waits
  std::condition_variable_any arrived_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::jthread> threads_;  // last: they use all else
};

}  // namespace perjoule

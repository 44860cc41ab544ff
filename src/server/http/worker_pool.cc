#include "server/http/worker_pool.h"

#include <utility>

#include "base/signals_kept.h"

namespace perjoule {

WorkerPool::WorkerPool(unsigned threads, std::size_t most) : most_(most) {
  const SignalsKept kept;
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
}

WorkerPool::~WorkerPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

bool WorkerPool::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_) return false;
    waiting_.push_back(std::move(work));
  }
  arrived_.notify_one();
  return true;
}

void WorkerPool::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (arrived_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    if (stop.stop_requested()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace perjoule

// A signal that ends long work early, with what there is by then: a stop token, and which signal.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <thread>

#include "base/file.h"
#include "base/result.h"
#include "meter/signals.h"

namespace perjoule::cli {

class StopOnSignal {
 public:
  /// Watches INT, TERM, HUP and QUIT until it is destroyed; a second one while the work still ends
  /// changes nothing.
  static Result<std::unique_ptr<StopOnSignal>> start();
  ~StopOnSignal();

  std::stop_token token() const { return source_.get_token(); }
  /// The first one that came, or 0.
  int signal() const { return signal_.load(); }

 private:
  explicit StopOnSignal(SignalWatch watch) : watch_(std::move(watch)) {}
  void loop(const std::stop_token& stop);

  SignalWatch watch_;
  FileDescriptor wake_;  ///< an eventfd that ends the thread
  std::stop_source source_;
  std::atomic<int> signal_ = 0;
  std::jthread thread_;
};

}  // namespace perjoule::cli

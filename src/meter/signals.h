// Signals as events of a poll loop, for programs that run other programs.
#pragma once

#include <csignal>
#include <optional>

#include "base/file.h"
#include "base/result.h"

namespace perjoule {

/// While it lives, the signals that end or steer a program (INT, TERM, HUP, QUIT, XCPU, USR1, USR2)
/// are blocked in this thread and those it starts, and come through a descriptor instead.
class SignalWatch {
 public:
  static Result<SignalWatch> start();
  SignalWatch(SignalWatch&& other) noexcept;
  SignalWatch& operator=(SignalWatch&&) = delete;
  ~SignalWatch();

  int fd() const { return fd_.get(); }
  struct Arrived {
    int signal;
    bool from_terminal;  ///< the kernel sent it to the whole foreground group: a child has it
                         ///< already
  };
  /// The next signal that has come; none when there is none.
  std::optional<Arrived> next() const;

 private:
  SignalWatch() = default;
  FileDescriptor fd_;
  sigset_t before_{};
  bool active_ = false;
};

}  // namespace perjoule

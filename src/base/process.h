// A child process: started with the pipes and variables of our choosing and watched through a
// descriptor, so that its end, its output and a sampling timer fit into one poll loop.
//
//   PJ_TRY(ChildProcess child, ChildProcess::start({.arguments = {"python3", "train.py"}}));
//   poll(child.pidfd(), ...);                 // readable when the child has ended
//   PJ_TRY(ExitState end, child.wait());
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// How a child ended, in the shell's terms.
struct ExitState {
  int status = 0;     ///< exit status, or 128 + the signal that ended it
  int signal = 0;     ///< 0 when it exited by itself
  Seconds user_time;  ///< CPU time of the child and the descendants it waited for
  Seconds system_time;
};

struct SpawnOptions {
  std::vector<std::string> arguments = {};  ///< the program (looked up in PATH) and its arguments
  std::vector<std::pair<std::string, std::string>> variables =
      {};                        ///< set on top of our own environment
  bool capture_output = false;   ///< standard output and error come back through pipes
  bool output_to_error = false;  ///< standard output goes where standard error goes
  bool silence_output = false;   ///< standard output and error go to /dev/null
  std::string output_path = {};  ///< standard output and error are appended to this file
  bool has_own_session = false;  ///< no signal of our terminal reaches it
  bool ends_with_us =
      false;  ///< it is killed when the thread that started it ends, however that is
  std::vector<int> processors = {};  ///< CPUs the child may run on; empty leaves the mask alone
  std::vector<int> keep_open = {};   ///< descriptors the child inherits under the same number
};

class ChildProcess {
 public:
  /// Starts the program. A program that cannot be executed is an error here (not_found,
  /// permission_denied), not an exit status later.
  static Result<ChildProcess> start(const SpawnOptions& options);

  ChildProcess(ChildProcess&&) noexcept = default;
  ChildProcess& operator=(ChildProcess&&) noexcept = default;

  pid_t pid() const { return pid_; }
  /// Becomes readable when the child has ended.
  int pidfd() const { return pidfd_.get(); }
  /// Read ends of the captured output; -1 when not captured.
  int output() const { return output_.get(); }
  int error_output() const { return error_output_.get(); }

  /// Waits for the end; the second call answers at once.
  Result<ExitState> wait();
  /// The end, when it has come.
  std::optional<ExitState> poll();
  /// Sends a signal; nothing happens once the child has ended.
  void send_signal(int signal) const;

 private:
  ChildProcess() = default;
  pid_t pid_ = -1;
  FileDescriptor pidfd_;
  FileDescriptor output_;
  FileDescriptor error_output_;
  std::optional<ExitState> end_;
};

struct CapturedRun {
  ExitState end;
  std::string output;
  std::string error_output;
};

/// Runs a program to its end and collects what it wrote.
Result<CapturedRun> run_captured(SpawnOptions options);

/// The processors that this process may run on, ascending.
std::vector<int> allowed_processors();

}  // namespace perjoule

#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace perjoule {
namespace {

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "making a pipe");
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<std::string> merged_environment(const SpawnOptions& options) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [variable, value] : options.variables) replaced |= variable == name;
    if (!replaced) merged.emplace_back(text);
  }
  for (const auto& [variable, value] : options.variables)
    merged.push_back(fmt::format("{}={}", variable, value));
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& string : strings) out.push_back(string.data());
  out.push_back(nullptr);
  return out;
}

/// Everything the child does between fork and exec; only async-signal-safe calls.
[[noreturn]] void become(const SpawnOptions& options, char** arguments, char** variables,
                         int output, int error_output, int report, pid_t parent) {
  const auto give_up = [report] {
    const int number = errno;
    (void)!::write(report, &number, sizeof(number));
    ::_exit(127);
  };
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ignored by the command, so that a closed pipe does not end it; its child expects the usual.
  ::signal(SIGPIPE, SIG_DFL);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  if (error_output >= 0) ::dup2(error_output, STDERR_FILENO);
  if (options.has_own_session) ::setsid();
  // Whoever started it may have ended already: then nobody's death will be told any more.
  if (options.ends_with_us && (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent))
    give_up();
  if (options.output_to_error && output < 0) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  for (const int fd : options.keep_open) ::fcntl(fd, F_SETFD, 0);
  if (!options.processors.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : options.processors) CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (::sched_setaffinity(0, sizeof(set), &set) != 0) give_up();
  }
  ::execvpe(arguments[0], arguments, variables);
  give_up();
  ::_exit(127);
}

ExitState exit_state(int wait_status, const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return Seconds(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6);
  };
  ExitState end;
  end.user_time = seconds(usage.ru_utime);
  end.system_time = seconds(usage.ru_stime);
  if (WIFSIGNALED(wait_status)) {
    end.signal = WTERMSIG(wait_status);
    end.status = 128 + end.signal;
  } else {
    end.status = WEXITSTATUS(wait_status);
  }
  return end;
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const SpawnOptions& options) {
  if (options.arguments.empty())
    return Error::invalid_argument("no command given", "name one after --");
  PJ_TRY(Pipe report, make_pipe());
  Pipe output;
  Pipe error_output;
  if (options.capture_output) {
    PJ_TRY(output, make_pipe());
    PJ_TRY(error_output, make_pipe());
  }
  if (options.silence_output) {
    output.write = FileDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    error_output.write = FileDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  }
  if (!options.output_path.empty()) {
    constexpr mode_t kReadableByAll = 0644;
    output.write = FileDescriptor(::open(
        options.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kReadableByAll));
    if (!output.write.valid()) return Error::from_errno(errno, options.output_path);
    error_output.write = FileDescriptor(::fcntl(output.write.get(), F_DUPFD_CLOEXEC, 0));
  }
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> variables = merged_environment(options);
  std::vector<char*> argument_pointers = pointers(arguments);
  std::vector<char*> variable_pointers = pointers(variables);

  ChildProcess child;
  const pid_t parent = ::getpid();
  child.pid_ = ::fork();
  if (child.pid_ < 0) return Error::from_errno(errno, "starting a process");
  if (child.pid_ == 0) {
    become(options, argument_pointers.data(), variable_pointers.data(), output.write.get(),
           error_output.write.get(), report.write.get(), parent);
  }
  report.write.reset();
  int number = 0;
  ssize_t count = 0;
  do {
    count = ::read(report.read.get(), &number, sizeof(number));
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof(number))) {
    ::waitpid(child.pid_, nullptr, 0);
    return Error::from_errno(number, fmt::format("cannot run '{}'", options.arguments.front()));
  }
  child.pidfd_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
  if (!child.pidfd_.valid()) return Error::from_errno(errno, "watching a process");
  child.output_ = std::move(output.read);
  child.error_output_ = std::move(error_output.read);
  return child;
}

Result<ExitState> ChildProcess::wait() {
  while (!end_) {
    int status = 0;
    rusage usage{};
    if (::wait4(pid_, &status, 0, &usage) == pid_) {
      end_ = exit_state(status, usage);
    } else if (errno != EINTR) {
      return Error::from_errno(errno, fmt::format("waiting for process {}", pid_));
    }
  }
  return *end_;
}

std::optional<ExitState> ChildProcess::poll() {
  int status = 0;
  rusage usage{};
  if (!end_ && ::wait4(pid_, &status, WNOHANG, &usage) == pid_) end_ = exit_state(status, usage);
  return end_;
}

void ChildProcess::send_signal(int signal) const {
  if (!end_) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

Result<CapturedRun> run_captured(SpawnOptions options) {
  options.capture_output = true;
  PJ_TRY(ChildProcess child, ChildProcess::start(options));
  CapturedRun run;
  std::array<pollfd, 2> watched{{{child.output(), POLLIN, 0}, {child.error_output(), POLLIN, 0}}};
  std::array<std::string*, 2> sinks{&run.output, &run.error_output};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) break;
    for (std::size_t i = 0; i < 2; ++i) {
      if (watched[i].fd < 0 || watched[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t count = ::read(watched[i].fd, buffer, sizeof(buffer));
      if (count > 0) {
        sinks[i]->append(buffer, static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        watched[i].fd = -1;
      }
    }
  }
  PJ_TRY(run.end, child.wait());
  return run;
}

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) processors.push_back(cpu);
  }
  return processors;
}

}  // namespace perjoule

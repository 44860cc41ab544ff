#include "serving/bench/server_process.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "base/file.h"
#include "base/text.h"
#include "device/process_times.h"
#include "net/http_fetch.h"

namespace perjoule {
namespace {

constexpr const char* kProcfs = "/proc";
constexpr Seconds kLook{0.2};
constexpr Seconds kKillPatience{5};
/// Between the file system's clock and the kernel's ticks.
constexpr Seconds kClockSlack{1};
constexpr std::size_t kLastLines = 8;

bool answers(const HttpUrl& ready, const Clock& clock) {
  HttpUrl server = ready;
  const std::string path = server.path.empty() ? "/health" : std::exchange(server.path, {});
  HttpClientOptions options;
  options.timeouts.connect = Seconds(2);
  options.timeouts.response = Seconds(5);
  const auto fetcher = HttpFetcher::create(clock, server, options);
  if (!fetcher) return false;
  const auto page = (*fetcher)->get(path);
  return page && page->status == 200;
}

/// "; the log's last lines: ...".
std::string last_lines(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return "";
  std::vector<std::string_view> lines;
  for (const std::string_view line : split(*text, '\n')) {
    if (!trim(line).empty()) lines.push_back(trim(line));
  }
  if (lines.empty()) return fmt::format("; its log {} is empty", path);
  std::string last;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLastLines); i < lines.size(); ++i)
    last += fmt::format("\n  {}", lines[i]);
  return fmt::format("; the end of its log {}:{}", path, last);
}

/// Of the log, in bytes; what is not there has none.
std::uint64_t size_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

std::vector<ProcessTimes> of_session(std::int64_t session) {
  std::vector<ProcessTimes> found;
  for (ProcessTimes& process : list_process_times(kProcfs)) {
    if (process.session == session && !process.ended()) found.push_back(std::move(process));
  }
  return found;
}

void signal_all(const std::vector<ProcessTimes>& processes, int number) {
  for (const ProcessTimes& process : processes) {
    const FileDescriptor pidfd(
        static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process.pid), 0)));
    if (pidfd.valid()) ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0);
  }
}

/// Asks all of them to end, waits, and makes them. unavailable where some stay.
Outcome end_all(const std::function<std::vector<ProcessTimes>()>& running, const Clock& clock,
                Seconds grace) {
  signal_all(running(), SIGTERM);
  const Instant kill_at = clock.now() + grace;
  for (;;) {
    const std::vector<ProcessTimes> left = running();
    if (left.empty()) return {};
    const Instant now = clock.now();
    if (now >= kill_at) signal_all(left, SIGKILL);
    if (now > kill_at + kKillPatience) {
      return Error::unavailable(fmt::format("process {} ({}) of the server does not end",
                                            left.front().pid, left.front().name));
    }
    clock.sleep_until(now + Seconds(0.02));
  }
}

/// How long ago the file was written; none where it is not there.
std::optional<Seconds> age_of(const std::string& path, const Clock& clock) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  const double written =
      static_cast<double>(facts.st_mtim.tv_sec) + 1e-9 * static_cast<double>(facts.st_mtim.tv_nsec);
  return Seconds(static_cast<double>(clock.unix_ns()) * 1e-9 - written);
}

/// How long ago a process began.
Seconds age_of(const ProcessTimes& process, const Clock& clock) {
  return (clock.since_boot() - Instant{}) - Seconds(static_cast<double>(process.start_ticks) /
                                                    static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace

Result<std::unique_ptr<ServerProcess>> ServerProcess::start(const ServerPlan& plan,
                                                            const Clock& clock,
                                                            const std::stop_token& stop) {
  if (answers(plan.ready, clock)) {
    return Error::conflict(
        fmt::format("something answers at {} before the server was started", plan.ready.text()),
        "end it, or give the sweep's server another port");
  }
  SpawnOptions options;
  // The shell says who it is before it starts anything, and ends with us until then and after: so
  // there is no moment at which a server runs that nobody knows of.
  options.arguments = {"/bin/sh", "-c",
                       "printf '%s\\n' \"$$\" > \"$0\" || exit 125\n" + plan.command, plan.state};
  options.output_path = plan.log;
  options.has_own_session = true;
  options.ends_with_us = true;
  ProcessTree tree = ProcessTree::adopt();
  PJ_TRY(ChildProcess child, ChildProcess::start(options));
  std::unique_ptr<ServerProcess> server(
      new ServerProcess(plan, clock, std::move(tree), std::move(child)));
  PJ_CHECK(server->wait_until_ready(stop));
  return server;
}

ServerProcess::~ServerProcess() { (void)end(); }

bool ServerProcess::has_ended() { return !child_ || child_->poll().has_value(); }

Outcome ServerProcess::end() {
  if (!child_) return {};
  // Those below it that took a session of their own are found as our descendants.
  const auto running = [this] {
    child_->poll();
    tree_.reap(child_->pid());
    std::vector<ProcessTimes> left;
    const std::vector<std::int64_t> pids = tree_.running();
    for (ProcessTimes& process : list_process_times(kProcfs)) {
      if (std::find(pids.begin(), pids.end(), process.pid) != pids.end())
        left.push_back(std::move(process));
    }
    return left;
  };
  const Outcome ended = end_all(running, clock_, plan_.grace);
  if (!ended) return ended;
  child_.reset();
  ::unlink(plan_.state.c_str());
  return {};
}

Outcome ServerProcess::wait_until_ready(const std::stop_token& stop) {
  const Instant begun = clock_.now();
  Instant last_word = begun;
  std::uint64_t size = size_of(plan_.log);
  for (;;) {
    if (const auto end = child_->poll()) {
      return Error::unavailable(fmt::format("the server ended with status {} before it served{}",
                                            end->status, last_lines(plan_.log)),
                                plan_.command);
    }
    if (answers(plan_.ready, clock_)) return {};
    const Instant now = clock_.now();
    if (const std::uint64_t grown = size_of(plan_.log); grown != size) {
      size = grown;
      last_word = now;
    }
    if (now - begun > plan_.ready_within) {
      return Error::unavailable(
          fmt::format("the server does not answer at {} {} after its start{}", plan_.ready.text(),
                      to_text(plan_.ready_within, 3), last_lines(plan_.log)),
          "ready-within says how long it may take");
    }
    if (plan_.silent_for && now - last_word > *plan_.silent_for) {
      return Error::unavailable(
          fmt::format("the server has written nothing for {}, and does not "
                      "answer at {}{}",
                      to_text(*plan_.silent_for, 3), plan_.ready.text(), last_lines(plan_.log)));
    }
    if (stop.stop_requested()) return Error::unavailable("interrupted while the server started");
    clock_.sleep_until(now + kLook);
  }
}

Result<bool> end_left_over(const std::string& state, const Clock& clock, Seconds grace) {
  const auto written = age_of(state, clock);
  if (!written) return false;
  PJ_TRY(const std::string text, read_file(state));
  const auto pid = parse_integer(trim(text));
  bool any = false;
  if (pid && *pid > 1) {
    // A session's number is not given out again while any process is in it. So where its leader is
    // gone, what is in it is the server's; where it is there, it is that one if it is not younger
    // than what it wrote.
    const std::vector<ProcessTimes> members = of_session(*pid);
    any = !members.empty() &&
          std::all_of(members.begin(), members.end(), [&](const ProcessTimes& process) {
            return process.pid != *pid || age_of(process, clock) >= *written - kClockSlack;
          });
    if (any) PJ_CHECK(end_all([&] { return of_session(*pid); }, clock, grace));
  }
  ::unlink(state.c_str());
  return any;
}

}  // namespace perjoule

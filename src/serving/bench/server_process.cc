#include "serving/bench/server_process.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "device/process_times.h"
#include "net/http_fetch.h"

namespace perjoule {
namespace {

constexpr const char* kProcfs = "/proc";
constexpr Seconds kLook{0.2};
constexpr Seconds kKillPatience{5};
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

/// Asks a session to end, waits, and makes it. unavailable where something of it stays.
Outcome end_session(std::int64_t session, const Clock& clock, Seconds grace,
                    const std::function<void()>& reap) {
  signal_all(of_session(session), SIGTERM);
  const Instant kill_at = clock.now() + grace;
  bool killed = false;
  for (;;) {
    reap();
    const std::vector<ProcessTimes> left = of_session(session);
    if (left.empty()) return {};
    const Instant now = clock.now();
    if (now >= kill_at) {
      signal_all(left, SIGKILL);
      killed = true;
    }
    if (killed && now > kill_at + kKillPatience) {
      return Error::unavailable(fmt::format("process {} ({}) of the server does not end",
                                            left.front().pid, left.front().name));
    }
    clock.sleep_until(now + Seconds(0.02));
  }
}

std::uint64_t start_of(std::int64_t pid) {
  for (const ProcessTimes& process : list_process_times(kProcfs)) {
    if (process.pid == pid) return process.start_ticks;
  }
  return 0;
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
  options.arguments = {"/bin/sh", "-c", plan.command};
  options.output_path = plan.log;
  options.has_own_session = true;
  PJ_TRY(ChildProcess child, ChildProcess::start(options));
  Json state = Json::object();
  state["pid"] = static_cast<std::int64_t>(child.pid());
  state["start_ticks"] = static_cast<std::int64_t>(start_of(child.pid()));
  std::unique_ptr<ServerProcess> server(new ServerProcess(plan, clock, std::move(child)));
  PJ_CHECK(write_file_atomically(plan.state, state.dump() + "\n"));
  PJ_CHECK(server->wait_until_ready(stop));
  return server;
}

ServerProcess::~ServerProcess() { (void)end(); }

bool ServerProcess::has_ended() { return !child_ || child_->poll().has_value(); }

Outcome ServerProcess::end() {
  if (!child_) return {};
  const Outcome ended = end_session(child_->pid(), clock_, plan_.grace, [this] { child_->poll(); });
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
  if (!path_exists(state)) return false;
  PJ_TRY(const std::string text, read_file(state));
  const auto json = parse_json(text);
  const auto pid = json ? json->integer("pid") : std::nullopt;
  const auto ticks = json ? json->integer("start_ticks") : std::nullopt;
  bool any = false;
  if (pid && ticks && *pid > 1) {
    // Numbers are used again: a session is the server's only while nothing in it is older than its
    // leader was, and the leader, where it lives, is that one.
    const std::vector<ProcessTimes> members = of_session(*pid);
    const auto start = static_cast<std::uint64_t>(*ticks);
    any =
        !members.empty() &&
        std::all_of(members.begin(), members.end(), [&](const ProcessTimes& process) {
          return process.pid == *pid ? process.start_ticks == start : process.start_ticks >= start;
        });
    if (any) PJ_CHECK(end_session(*pid, clock, grace, [] {}));
  }
  ::unlink(state.c_str());
  return any;
}

}  // namespace perjoule

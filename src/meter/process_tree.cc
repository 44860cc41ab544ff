#include "meter/process_tree.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <unordered_map>

#include "base/file.h"
#include "base/text.h"
#include "device/process_times.h"

namespace perjoule {
namespace {

/// Signals go to real processes: never to what a test's or a user's root of procfs says.
constexpr const char* kProcfs = "/proc";

/// A /proc of another pid namespace names other processes by our numbers.
bool procfs_is_ours() {
  const auto text = read_file(fmt::format("{}/self/stat", kProcfs));
  const auto self = text ? parse_process_stat(*text) : Result<ProcessTimes>(fail(text));
  return self && self->pid == ::getpid();
}

std::uint64_t start_of(std::int64_t pid) {
  const auto text = read_file(fmt::format("{}/{}/stat", kProcfs, pid));
  const auto process = text ? parse_process_stat(*text) : Result<ProcessTimes>(fail(text));
  return process ? process->start_ticks : 0;
}

}  // namespace

ProcessTree ProcessTree::adopt() {
  ProcessTree tree;
  int before = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &before);
  tree.was_subreaper_ = before != 0;
  tree.active_ = true;
  for (const ProcessTimes& process : list_process_times(kProcfs)) {
    if (process.parent == ::getpid()) tree.others_.insert(process.pid);
  }
  // Where the kernel refuses, orphans go to init and are lost to us; the others are still found.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  return tree;
}

ProcessTree::ProcessTree(ProcessTree&& other) noexcept
    : was_subreaper_(other.was_subreaper_),
      active_(std::exchange(other.active_, false)),
      others_(std::move(other.others_)),
      asked_(std::move(other.asked_)) {}

ProcessTree::~ProcessTree() {
  if (active_ && !was_subreaper_) ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

std::vector<ProcessTree::Member> ProcessTree::members() const {
  std::vector<Member> found;
  if (!procfs_is_ours()) return found;
  std::unordered_map<std::int64_t, std::vector<const ProcessTimes*>> children;
  const std::vector<ProcessTimes> all = list_process_times(kProcfs);
  for (const ProcessTimes& process : all) children[process.parent].push_back(&process);
  std::vector<std::int64_t> open{::getpid()};
  while (!open.empty()) {
    const auto below = children.find(open.back());
    open.pop_back();
    if (below == children.end()) continue;
    for (const ProcessTimes* process : below->second) {
      if (others_.count(process->pid) > 0) continue;
      open.push_back(process->pid);
      if (!process->ended()) found.emplace_back(process->pid, process->start_ticks);
    }
    children.erase(below);  // a pid reused as its own ancestor must not loop
  }
  return found;
}

bool ProcessTree::signal(int number) {
  const std::vector<Member> found = members();
  for (const Member& member : found) {
    if (number != SIGKILL && asked_.count(member) > 0) continue;
    const FileDescriptor pidfd(
        static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(member.first), 0)));
    // The descriptor holds on to one process; only now is it sure to be the one that was listed.
    if (!pidfd.valid() || start_of(member.first) != member.second) continue;
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0);
    if (number == SIGKILL) continue;
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGCONT, nullptr, 0);
    asked_.insert(member);
  }
  return !found.empty();
}

std::vector<std::int64_t> ProcessTree::running() const {
  std::vector<std::int64_t> pids;
  for (const Member& member : members()) pids.push_back(member.first);
  return pids;
}

void ProcessTree::reap(pid_t child) const {
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    // The child's and other people's status are left; what waits behind them comes next time.
    if (ended.si_pid == child || others_.count(ended.si_pid) > 0) return;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
}

}  // namespace perjoule

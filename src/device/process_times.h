// CPU time by process, process tree and cgroup, from /proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace perjoule {

struct ProcessTimes {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::int64_t session = 0;  ///< the pid of its leader
  std::string name;
  char state = '?';               ///< its first thread's, as ps has it: 'S' sleeps, 'Z' has ended
  std::int64_t threads = 1;       ///< the first among them, until its parent has taken note
  std::uint64_t start_ticks = 0;  ///< with pid, what tells one process from a later one
  Seconds cpu;                    ///< user and system, of the process itself
  Seconds cpu_of_children;        ///< of the children it has waited for

  /// It has ended, and only its parent has not taken note yet. While any thread lives on without
  /// the first, so do the process's sockets and files.
  bool ended() const { return (state == 'Z' && threads <= 1) || state == 'X'; }
};

/// One /proc/PID/stat. The name may hold blanks and parentheses.
Result<ProcessTimes> parse_process_stat(std::string_view text);

/// All processes that can be seen. Those that end meanwhile are left out.
std::vector<ProcessTimes> list_process_times(const std::string& procfs);

/// CPU time of `root` and everything below it, ended children included.
Seconds tree_cpu_time(const std::vector<ProcessTimes>& processes, std::int64_t root);

/// The process's cgroup (v2 path, or the v1 name), e.g. "/system.slice/ssh.service"; empty when
/// unknown.
std::string cgroup_of(const std::string& procfs, std::int64_t pid);

}  // namespace perjoule

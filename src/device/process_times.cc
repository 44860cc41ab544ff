#include "device/process_times.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>

#include "base/file.h"
#include "base/text.h"

namespace perjoule {

Result<ProcessTimes> parse_process_stat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      close + 2 > text.size()) {
    return Error::data_loss("/proc/PID/stat: no process name");
  }
  // After the name: state, ppid, pgrp, session(3), ... utime(11), stime(12), cutime(13),
  // cstime(14), ... num_threads(17), ... starttime(19).
  const auto fields = split(trim(text.substr(close + 1)), ' ');
  if (fields.size() < 20) return Error::data_loss("/proc/PID/stat: cut short");
  const auto pid = parse_integer(trim(text.substr(0, open)));
  std::int64_t numbers[20] = {};
  for (const std::size_t at : {1U, 3U, 11U, 12U, 13U, 14U, 17U, 19U}) {
    const auto value = parse_integer(fields[at]);
    if (!value || *value < 0)
      return Error::data_loss("/proc/PID/stat: not a number: '" + std::string(fields[at]) + "'");
    numbers[at] = *value;
  }
  if (!pid) return Error::data_loss("/proc/PID/stat: no pid");
  const double per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ProcessTimes process;
  process.pid = *pid;
  process.parent = numbers[1];
  process.session = numbers[3];
  if (!fields[0].empty()) process.state = fields[0][0];
  process.threads = numbers[17];
  process.name = text.substr(open + 1, close - open - 1);
  process.start_ticks = static_cast<std::uint64_t>(numbers[19]);
  // Converted before adding: the kernel's numbers are not to be trusted with an integer sum.
  process.cpu =
      Seconds((static_cast<double>(numbers[11]) + static_cast<double>(numbers[12])) / per_second);
  process.cpu_of_children =
      Seconds((static_cast<double>(numbers[13]) + static_cast<double>(numbers[14])) / per_second);
  return process;
}

std::vector<ProcessTimes> list_process_times(const std::string& procfs) {
  std::vector<ProcessTimes> processes;
  for (const std::string& name : list_folder(procfs)) {
    if (name[0] < '0' || name[0] > '9') continue;
    const auto text = read_file(fmt::format("{}/{}/stat", procfs, name));
    if (!text) continue;
    if (auto process = parse_process_stat(*text)) processes.push_back(std::move(*process));
  }
  return processes;
}

Seconds tree_cpu_time(const std::vector<ProcessTimes>& processes, std::int64_t root) {
  std::unordered_map<std::int64_t, std::vector<const ProcessTimes*>> children;
  Seconds total;
  std::vector<const ProcessTimes*> open;
  for (const ProcessTimes& process : processes) {
    children[process.parent].push_back(&process);
    if (process.pid == root) open.push_back(&process);
  }
  while (!open.empty()) {
    const ProcessTimes* process = open.back();
    open.pop_back();
    total += process->cpu + process->cpu_of_children;
    if (const auto below = children.find(process->pid); below != children.end()) {
      open.insert(open.end(), below->second.begin(), below->second.end());
      children.erase(below);  // a pid reused as its own ancestor must not loop
    }
  }
  return total;
}

std::string cgroup_of(const std::string& procfs, std::int64_t pid) {
  const auto text = read_file(procfs + "/" + std::to_string(pid) + "/cgroup");
  if (!text) return {};
  std::string best;
  for (const std::string_view line : split(*text, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const std::string_view path = line.substr(parts[0].size() + parts[1].size() + 2);
    if (parts[0] == "0") return std::string(path);  // v2
    if (parts[1].find("cpu") != std::string_view::npos) best = path;
  }
  return best;
}

}  // namespace perjoule

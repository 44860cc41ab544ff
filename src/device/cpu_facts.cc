#include "device/cpu_facts.h"

#include <unistd.h>

#include <set>

#include "base/file.h"
#include "base/text.h"

namespace perjoule {

CpuFacts read_cpu_facts(const Roots& roots) {
  CpuFacts facts;
  const auto text = read_file(roots.procfs + "/cpuinfo");
  if (!text) return facts;
  std::set<std::string> packages;
  int processors = 0;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(0, colon));
    const std::string_view value = trim(line.substr(colon + 1));
    if (key == "processor") ++processors;
    if (key == "model name") facts.model = value;
    if (key == "vendor_id") facts.amd = value == "AuthenticAMD" || value == "HygonGenuine";
    if (key == "physical id") packages.insert(std::string(value));
    if (key == "flags" && value.find("hypervisor") != std::string_view::npos)
      facts.hypervisor = true;
  }
  if (processors > 0) facts.logical_processors = processors;
  if (!packages.empty()) facts.packages = static_cast<int>(packages.size());
  return facts;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr std::int64_t kMostCpus = 65536;
  std::vector<int> cpus;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus) return {};
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

Result<CpuTimes> parse_cpu_times(std::string_view proc_stat) {
  // "cpu  user nice system idle iowait irq softirq steal guest guest_nice": guest time is within
  // user.
  const std::string_view line = proc_stat.substr(0, proc_stat.find('\n'));
  if (line.rfind("cpu ", 0) != 0) return Error::data_loss("/proc/stat: does not begin with 'cpu '");
  double ticks[8] = {};
  int count = 0;
  for (const std::string_view word : split(line.substr(4), ' ')) {
    if (word.empty()) continue;
    const auto value = parse_number(word);
    if (!value) return Error::data_loss("/proc/stat: not a number: '" + std::string(word) + "'");
    if (count < 8) ticks[count++] = *value;
  }
  if (count < 4) return Error::data_loss("/proc/stat: the first line is cut short");
  const double per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  CpuTimes times;
  times.busy = Seconds((ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / per_second);
  times.idle = Seconds((ticks[3] + ticks[4]) / per_second);
  return times;
}

}  // namespace perjoule

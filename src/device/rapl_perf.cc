#include "device/rapl_perf.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>

#include "base/text.h"
#include "device/cpu_facts.h"
#include "device/cpu_package.h"
#include "device/plain_device.h"

namespace perjoule {
namespace {

/// As in rapl_powercap.cc: no package draws this much.
constexpr Watts kMaxPackagePower(2000);
constexpr Seconds kUpkeep(60);
/// The coarsest step of the hardware below the counts (2^-14 J), whatever the scale says.
constexpr double kHardwareQuantum = 6.2e-5;

struct Domain {
  const char* pmu;
  const char* event;
  const char* scope;
};
constexpr Domain kDomains[] = {
    {"power", "energy-pkg", "package"}, {"power", "energy-ram", "dram"},
    {"power", "energy-cores", "core"},  {"power", "energy-gpu", "uncore"},
    {"power", "energy-psys", "psys"},   {"power_core", "energy-core", "core"},
};

/// The sum of one event's counters: one for a package, as many as cores for AMD's cores.
class PerfSource final : public Source {
 public:
  PerfSource(SourceInfo info, double joules_per_count, std::vector<FileDescriptor> counters)
      : info_(std::move(info)), scale_(joules_per_count * 1e6), counters_(std::move(counters)) {}
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    std::uint64_t total = 0;
    for (const FileDescriptor& counter : counters_) {
      std::uint64_t count = 0;
      const ssize_t got = ::read(counter.get(), &count, sizeof(count));
      if (got < 0) return {code_of_errno(errno), 0};
      // A CPU taken off line ends its counter: read gives nothing.
      if (got != sizeof(count)) return {ErrorCode::kDataLoss, 0};
      total += count;
    }
    return {ErrorCode::kOk, static_cast<std::uint64_t>(static_cast<double>(total) * scale_)};
  }

 private:
  SourceInfo info_;
  double scale_;
  std::vector<FileDescriptor> counters_;
};

struct Event {
  unsigned type = 0;
  std::uint64_t config = 0;
  double scale = 0;
  std::vector<int> cpus;
};

Result<Event> read_event(const std::string& pmu, const std::string& name) {
  Event event;
  PJ_TRY(const std::string type, read_attribute(pmu + "/type"));
  PJ_TRY(const std::string config, read_attribute(pmu + "/events/" + name));
  PJ_TRY(const std::string scale, read_attribute(pmu + "/events/" + name + ".scale"));
  PJ_TRY(const std::string unit, read_attribute(pmu + "/events/" + name + ".unit"));
  PJ_TRY(const std::string mask, read_attribute(pmu + "/cpumask"));
  const auto number = parse_integer(type);
  const auto parsed = parse_perf_event(config);
  const auto factor = parse_number(scale);
  event.cpus = parse_cpu_list(mask);
  const bool sound = number && *number > 0 && parsed && factor && *factor > 0 && unit == "Joules" &&
                     !event.cpus.empty();
  if (!sound) {
    return Error::data_loss(
        fmt::format("{}/events/{}: not an energy event that is understood here: '{}' x '{}' '{}'",
                    pmu, name, config, scale, unit));
  }
  event.type = static_cast<unsigned>(*number);
  event.config = *parsed;
  event.scale = *factor;
  return event;
}

class PerfDiscovery {
 public:
  PerfDiscovery(const Roots& roots, const std::vector<std::string>& known, const PerfOpener& open)
      : roots_(roots), known_(known), open_(open), facts_(read_cpu_facts(roots)) {}

  Discovered run() {
    for (const Domain& domain : kDomains) {
      const std::string pmu = roots_.sysfs + "/bus/event_source/devices/" + domain.pmu;
      if (!path_exists(pmu + "/events/" + domain.event)) continue;
      auto event = read_event(pmu, domain.event);
      if (!event) {
        found_.problems.push_back({domain.event, event.error()});
        continue;
      }
      add(domain, *event);
    }
    for (auto& [number, package] : packages_) found_.devices.push_back(std::move(package));
    return std::move(found_);
  }

 private:
  int topology(int cpu, const char* file) const {
    const auto text = read_attribute(
        fmt::format("{}/devices/system/cpu/cpu{}/topology/{}", roots_.sysfs, cpu, file));
    const auto number = text ? parse_integer(*text) : std::nullopt;
    return number && *number >= 0 ? static_cast<int>(*number) : 0;
  }

  /// The CPUs of each source of the domain: one of its own for each die, all cores of a package
  /// together.
  std::map<std::string, std::vector<int>> sources_of(const Domain& domain,
                                                     const Event& event) const {
    std::map<int, std::vector<int>> by_package;
    for (const int cpu : event.cpus)
      by_package[topology(cpu, "physical_package_id")].push_back(cpu);
    std::map<std::string, std::vector<int>> out;
    for (const auto& [package, cpus] : by_package) {
      const bool whole = std::string_view(domain.scope) == "package";
      for (const int cpu : cpus) {
        std::string id = fmt::format("cpu:{}/{}", package, domain.scope);
        if (whole && cpus.size() > 1)
          id = fmt::format("cpu:{}/die-{}", package, topology(cpu, "die_id"));
        if (std::string_view(domain.scope) == "psys") id = "node/psys";
        out[id].push_back(cpu);
      }
    }
    return out;
  }

  void add(const Domain& domain, const Event& event) {
    for (auto& [id, cpus] : sources_of(domain, event)) {
      if (std::find(known_.begin(), known_.end(), id) != known_.end()) continue;
      // Every package's psys counter is the one of the board.
      if (id == "node/psys") cpus.resize(1);
      const int package = topology(cpus.front(), "physical_package_id");
      std::vector<FileDescriptor> counters;
      for (const int cpu : cpus) {
        auto counter = open_(event.type, event.config, cpu);
        if (!counter) {
          found_.problems.push_back({id, explained(counter.error())});
          break;
        }
        counters.push_back(std::move(*counter));
      }
      if (counters.size() != cpus.size()) continue;
      package_of(package).add(std::make_unique<PerfSource>(describe(domain, id, package),
                                                           event.scale, std::move(counters)));
    }
  }

  Error explained(Error error) const {
    if (error.code != ErrorCode::kPermissionDenied) return error;
    const auto paranoid = read_attribute(roots_.procfs + "/sys/kernel/perf_event_paranoid");
    error.remedy = fmt::format(
        "run as root, give the program CAP_PERFMON (setcap cap_perfmon=ep), or set "
        "kernel.perf_event_paranoid to 0 (now {})",
        paranoid.value_or("unknown"));
    return error;
  }

  PlainDevice& package_of(int number) {
    auto& package = packages_[number];
    if (!package)
      package = std::make_unique<PlainDevice>(describe_cpu_package(facts_, number, "perf"));
    return *package;
  }

  SourceInfo describe(const Domain& domain, const std::string& id, int package) const {
    SourceInfo info;
    info.id = id;
    info.device = fmt::format("cpu:{}", package);
    info.backend = "perf";
    const bool die = id.find("/die-") != std::string::npos;
    info.scope = die ? "die" : domain.scope;
    const bool psys = id == "node/psys";
    info.boundary = psys ? Boundary::kNode : Boundary::kDevice;
    info.status =
        path_exists(roots_.sysfs + "/perjoule-simulated") ? Status::kSimulated : Status::kMeasured;
    info.tick = Seconds(1e-3);
    info.quantum = kHardwareQuantum;
    info.gain = facts_.amd ? 0.10 : 0.05;
    info.max_power = kMaxPackagePower;
    info.upkeep = kUpkeep;
    if (psys) info.overlaps = "cpu:0/package";
    if (info.scope == "core" || info.scope == "uncore") info.overlaps = info.device + "/package";
    return info;
  }

  const Roots& roots_;
  const std::vector<std::string>& known_;
  const PerfOpener& open_;
  CpuFacts facts_;
  std::map<int, std::unique_ptr<PlainDevice>> packages_;
  Discovered found_;
};

}  // namespace

std::optional<std::uint64_t> parse_perf_event(std::string_view text) {
  constexpr std::string_view kPrefix = "event=0x";
  if (text.rfind(kPrefix, 0) != 0) return std::nullopt;
  const char* const first = text.data() + kPrefix.size();
  const char* const last = text.data() + text.size();
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(first, last, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != last) return std::nullopt;
  return value;
}

Result<FileDescriptor> open_perf_counter(unsigned type, std::uint64_t config, int cpu) {
  perf_event_attr attributes{};
  attributes.type = type;
  attributes.size = sizeof(attributes);
  attributes.config = config;
  const long fd = ::syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return Error::from_errno(errno, fmt::format("perf_event_open on CPU {}", cpu));
  return FileDescriptor(static_cast<int>(fd));
}

Discovered discover_rapl_perf(const Roots& roots, const std::vector<std::string>& known,
                              const PerfOpener& open) {
  return PerfDiscovery(roots, known, open).run();
}

}  // namespace perjoule

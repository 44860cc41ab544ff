#include "twin/powercap_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "base/file.h"
#include "base/text.h"

namespace perjoule::twin {
namespace {

constexpr double kPackageIdleW = 40;
constexpr double kBusyCoreW = 6;
constexpr double kCoreShare = 0.8;  // of what a busy core adds to the package
constexpr double kDramIdleW = 3;
constexpr double kDramBusyW = 0.7;

std::uint64_t wrapped(std::uint64_t value, double microjoules, std::uint64_t range) {
  return (value + static_cast<std::uint64_t>(std::llround(microjoules))) % range;
}

Outcome write_new(const std::string& path, std::string_view text) {
  return write_file_atomically(path, std::string(text) + "\n");
}

Outcome make_zone(const std::string& folder, std::string_view name, std::uint64_t range) {
  PJ_CHECK(make_folders(folder));
  PJ_CHECK(write_new(folder + "/name", name));
  PJ_CHECK(write_new(folder + "/enabled", "1"));
  PJ_CHECK(write_new(folder + "/max_energy_range_uj", std::to_string(range)));
  return write_new(folder + "/energy_uj", fmt::format("{:012}", 0));
}

Outcome make_constraint(const std::string& folder, int number, std::string_view name, int watts,
                        int window_us) {
  const std::string prefix = fmt::format("{}/constraint_{}_", folder, number);
  PJ_CHECK(write_new(prefix + "name", name));
  PJ_CHECK(write_new(prefix + "power_limit_uw", fmt::format("{}", watts * 1'000'000LL)));
  PJ_CHECK(write_new(prefix + "max_power_uw", fmt::format("{}", watts * 1'000'000LL)));
  return write_new(prefix + "time_window_us", std::to_string(window_us));
}

Outcome link(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) == 0) return {};
  return Error::from_errno(errno, "cannot link " + path);
}

// In place and of the same length: a reader never meets an empty file.
Outcome rewrite(const std::string& path, std::uint64_t value) {
  const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = fmt::format("{:012}\n", value);
  if (!fd.valid() ||
      ::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return Error::from_errno(errno, "cannot write " + path);
  }
  return {};
}

}  // namespace

Result<PowercapTree> PowercapTree::create(const std::string& root) {
  const std::string devices = root + "/devices/virtual/powercap/intel-rapl";
  const std::string package = devices + "/intel-rapl:0";
  PJ_CHECK(make_zone(package, "package-0", kPackageRange));
  PJ_CHECK(make_constraint(package, 0, "long_term", 205, 999424));
  PJ_CHECK(make_constraint(package, 1, "short_term", 246, 7808));
  PJ_CHECK(make_zone(package + "/intel-rapl:0:0", "core", kPackageRange));
  PJ_CHECK(make_zone(package + "/intel-rapl:0:1", "dram", kDramRange));
  PJ_CHECK(write_new(devices + "/enabled", "1"));
  // Tells a reader that nothing below this root was measured.
  PJ_CHECK(write_new(root + "/perjoule-simulated", "powercap"));
  const std::string flat = root + "/class/powercap";
  const std::string up = "../../devices/virtual/powercap/intel-rapl";
  PJ_CHECK(make_folders(flat));
  PJ_CHECK(link(up, flat + "/intel-rapl"));
  PJ_CHECK(link(up + "/intel-rapl:0", flat + "/intel-rapl:0"));
  PJ_CHECK(link(up + "/intel-rapl:0/intel-rapl:0:0", flat + "/intel-rapl:0:0"));
  PJ_CHECK(link(up + "/intel-rapl:0/intel-rapl:0:1", flat + "/intel-rapl:0:1"));
  return PowercapTree(package);
}

Outcome PowercapTree::add(Seconds elapsed, Seconds busy) {
  const double cores = busy.value() * kBusyCoreW;
  const double package = elapsed.value() * kPackageIdleW + cores;
  const double dram = elapsed.value() * kDramIdleW + busy.value() * kDramBusyW;
  energies_.package_uj = wrapped(energies_.package_uj, package * 1e6, kPackageRange);
  energies_.core_uj = wrapped(energies_.core_uj, cores * kCoreShare * 1e6, kPackageRange);
  energies_.dram_uj = wrapped(energies_.dram_uj, dram * 1e6, kDramRange);
  return show();
}

Outcome PowercapTree::set(const ZoneEnergies& energies) {
  energies_ = energies;
  return show();
}

Outcome PowercapTree::show() const {
  PJ_CHECK(rewrite(zone_ + "/energy_uj", energies_.package_uj));
  PJ_CHECK(rewrite(zone_ + "/intel-rapl:0:0/energy_uj", energies_.core_uj));
  return rewrite(zone_ + "/intel-rapl:0:1/energy_uj", energies_.dram_uj);
}

Result<Seconds> busy_core_seconds() {
  PJ_TRY(const std::string line, read_attribute("/proc/stat"));
  // "cpu  user nice system idle iowait irq softirq steal ...", in clock ticks.
  double busy = 0;
  std::size_t field = 0;
  for (const std::string_view word : split(line, ' ')) {
    const auto ticks = parse_number(word);
    if (!ticks) continue;
    const bool idle = field == 3 || field == 4;
    if (!idle && field < 8) busy += *ticks;
    ++field;
  }
  return Seconds(busy / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace perjoule::twin

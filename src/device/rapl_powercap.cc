#include "device/rapl_powercap.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "device/cpu_facts.h"
#include "device/cpu_package.h"
#include "device/plain_device.h"
#include "device/sysfs_power.h"

namespace perjoule {
namespace {

/// No package, die or DIMM set draws this much; a counter that seems to say so was reset, not
/// wrapped.
constexpr Watts kMaxPackagePower(2000);

struct Zone {
  std::string path;    ///< folder of the zone
  std::string parent;  ///< folder name of the parent zone; empty for a top-level one
  RaplZoneName name;
};

/// Folder names are "intel-rapl:S" and "intel-rapl:S:K"; the flat links beside the tree name them
/// all.
std::vector<Zone> list_zones(const std::string& powercap) {
  std::vector<Zone> zones;
  for (const std::string& folder : list_folder(powercap)) {
    if (folder.rfind("intel-rapl:", 0) != 0) continue;
    const std::string path = fmt::format("{}/{}", powercap, folder);
    const auto name = read_attribute(path + "/name");
    if (!name) continue;
    const bool child = std::count(folder.begin(), folder.end(), ':') > 1;
    zones.push_back(
        {path, child ? folder.substr(0, folder.rfind(':')) : "", parse_rapl_zone_name(*name)});
  }
  return zones;
}

std::string_view scope_of(RaplZoneName::Kind kind) {
  using Kind = RaplZoneName::Kind;
  switch (kind) {
    case Kind::kPackage:
      return "package";
    case Kind::kDie:
      return "die";
    case Kind::kCore:
      return "core";
    case Kind::kUncore:
      return "uncore";
    case Kind::kDram:
      return "dram";
    case Kind::kPsys:
      return "psys";
    case Kind::kOther:
      return "other";
  }
  return "other";
}

/// Collects zones into packages.
class Discovery {
 public:
  explicit Discovery(const Roots& roots)
      : facts_(read_cpu_facts(roots)), zones_(list_zones(roots.sysfs + "/class/powercap")) {
    simulated_ = path_exists(roots.sysfs + "/perjoule-simulated");
  }

  Discovered run() {
    for (const Zone& zone : zones_) add(zone);
    for (auto& [number, package] : packages_) found_.devices.push_back(std::move(package));
    return std::move(found_);
  }

 private:
  void add(const Zone& zone) {
    using Kind = RaplZoneName::Kind;
    const Zone& top = zone.parent.empty() ? zone : parent_of(zone);
    // psys belongs to the whole board; it is kept with package 0 and overlaps it.
    const int number = top.name.kind == Kind::kPsys ? 0 : top.name.package;
    PlainDevice& package = package_of(number);

    SourceInfo info = describe(zone, number);
    const std::string file = zone.path + "/energy_uj";
    auto fd = open_for_reading(file);
    if (!fd) {
      Error error = fd.error();
      if (error.code == ErrorCode::kPermissionDenied) {
        error.remedy = "run as root, or let a group read it: perjoule doctor --fix";
      }
      found_.problems.push_back({info.id, std::move(error)});
    } else {
      if (info.modulus_micro == 0) {
        found_.problems.push_back(
            {info.id,
             Error{ErrorCode::kDataLoss, zone.path + "/max_energy_range_uj: cannot be read",
                   "a wrap of this counter will be taken for a reset"}});
      }
      package.add(std::make_unique<SysfsSource>(std::move(info), std::move(*fd)));
    }
    if (zone.name.kind == Kind::kPackage || zone.name.kind == Kind::kDie)
      add_limits(zone, package, number);
  }

  const Zone& parent_of(const Zone& zone) const {
    for (const Zone& candidate : zones_) {
      if (candidate.path.substr(candidate.path.rfind('/') + 1) == zone.parent) return candidate;
    }
    return zone;
  }

  PlainDevice& package_of(int number) {
    auto& package = packages_[number];
    if (!package)
      package = std::make_unique<PlainDevice>(describe_cpu_package(facts_, number, "powercap"));
    return *package;
  }

  SourceInfo describe(const Zone& zone, int number) const {
    using Kind = RaplZoneName::Kind;
    SourceInfo info;
    info.device = fmt::format("cpu:{}", number);
    info.scope = scope_of(zone.name.kind);
    info.id = info.device + "/" + info.scope;
    if (zone.name.kind == Kind::kDie) info.id += fmt::format("-{}", zone.name.die);
    if (zone.name.kind == Kind::kPsys) info.id = "node/psys";
    info.backend = "powercap";
    info.boundary = zone.name.kind == Kind::kPsys ? Boundary::kNode : Boundary::kDevice;
    info.status = simulated_ ? Status::kSimulated : Status::kMeasured;
    info.tick = Seconds(1e-3);
    info.gain =
        facts_.amd ? 0.10 : 0.05;  // AMD's counter is a model of activity, Intel's a measurement
    info.max_power = kMaxPackagePower;
    switch (zone.name.kind) {
      case Kind::kCore:
      case Kind::kUncore:
        info.overlaps = info.device + "/package";
        break;
      case Kind::kPsys:
      case Kind::kOther:
        info.overlaps = "cpu:0/package";
        break;
      case Kind::kDie:
        info.overlaps = has_whole_package(zone.name.package) ? info.device + "/package" : "";
        break;
      default:
        break;
    }
    if (const auto range = read_attribute(zone.path + "/max_energy_range_uj")) {
      if (const auto microjoules = parse_integer(*range); microjoules && *microjoules > 0) {
        // The range is (2^32 - 1) units, the counter's period 2^32 units: one unit more.
        const auto value = static_cast<std::uint64_t>(*microjoules);
        info.modulus_micro = value + std::max<std::uint64_t>(1, value / 0xFFFFFFFFU);
        info.quantum = static_cast<double>(value) / 4294967295.0 * 1e-6;
      }
    }
    return info;
  }

  bool has_whole_package(int number) const {
    return std::any_of(zones_.begin(), zones_.end(), [number](const Zone& zone) {
      return zone.name.kind == RaplZoneName::Kind::kPackage && zone.name.package == number;
    });
  }

  static void add_limits(const Zone& zone, PlainDevice& package, int number) {
    for (int constraint = 0; constraint < 3; ++constraint) {
      const std::string prefix = fmt::format("{}/constraint_{}_", zone.path, constraint);
      const auto name = read_attribute(prefix + "name");
      if (!name || !path_exists(prefix + "power_limit_uw")) continue;
      KnobInfo info;
      info.device = fmt::format("cpu:{}", number);
      const std::string die =
          zone.name.kind == RaplZoneName::Kind::kDie ? fmt::format("/die-{}", zone.name.die) : "";
      info.id = fmt::format("{}{}/power-limit-{}", info.device, die, constraint);
      info.name = constraint == 0 ? "power limit" : "power limit (" + *name + ")";
      info.unit = "W";
      info.minimum = 1;
      const auto highest = read_attribute(prefix + "max_power_uw");
      const auto microwatts = highest ? parse_number(*highest) : std::nullopt;
      // Some parts report 0 for "unknown".
      info.maximum = microwatts && *microwatts > 0 ? *microwatts / 1e6 : kMaxPackagePower.value();
      package.add(std::make_unique<SysfsLimit>(std::move(info), prefix + "power_limit_uw"));
    }
  }

  CpuFacts facts_;
  std::vector<Zone> zones_;
  bool simulated_ = false;
  std::map<int, std::unique_ptr<PlainDevice>> packages_;
  Discovered found_;
};

}  // namespace

RaplZoneName parse_rapl_zone_name(const std::string& name) {
  using Kind = RaplZoneName::Kind;
  if (name == "core") return {Kind::kCore, 0, 0};
  if (name == "uncore") return {Kind::kUncore, 0, 0};
  if (name == "dram") return {Kind::kDram, 0, 0};
  if (name == "psys") return {Kind::kPsys, 0, 0};
  const auto parts = split(name, '-');
  const auto number = [&parts](std::size_t at) -> int {
    const auto value = parse_integer(parts[at]);
    return value && *value >= 0 && *value < 1'000'000 ? static_cast<int>(*value) : -1;
  };
  if (parts.size() == 2 && parts[0] == "package" && number(1) >= 0)
    return {Kind::kPackage, number(1), 0};
  if (parts.size() == 4 && parts[0] == "package" && parts[2] == "die" && number(1) >= 0 &&
      number(3) >= 0) {
    return {Kind::kDie, number(1), number(3)};
  }
  return {};
}

Discovered discover_rapl_powercap(const Roots& roots) { return Discovery(roots).run(); }

}  // namespace perjoule

#include "machine.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>

#include "base/file.h"
#include "figure.h"

namespace perjoule::bench {
namespace {

constexpr const char* kZones[] = {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1",
                                  "intel-rapl:1:0"};

SourceInfo info_of(std::string id, std::string device, std::string scope, Seconds tick) {
  SourceInfo info;
  info.id = std::move(id);
  info.device = std::move(device);
  info.backend = "instant";
  info.scope = std::move(scope);
  info.tick = tick;
  info.gain = 0.05;
  return info;
}

}  // namespace

PowercapFolder::PowercapFolder() {
  char pattern[] = "/tmp/perjoule-bench-XXXXXX";
  if (::mkdtemp(pattern) == nullptr) must(Error::from_errno(errno, "making a folder"));
  root_ = pattern;
  for (const char* zone : kZones) {
    const std::string folder = root_ + "/sys/class/powercap/" + zone;
    const bool package = std::string_view(zone).size() == std::string_view("intel-rapl:0").size();
    must(make_folders(folder));
    const auto put = [&folder](const char* file, const std::string& text) {
      must(write_file_atomically(folder + "/" + file, text + "\n"));
    };
    put("name", package ? std::string("package-") + zone[11] : "dram");
    put("energy_uj", "123456789012");
    put("max_energy_range_uj", "262143328850");
  }
}

PowercapFolder::~PowercapFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

Roots PowercapFolder::roots() const {
  Roots roots;
  roots.sysfs = root_ + "/sys";
  roots.nvml = "/nonexistent";
  return roots;
}

std::vector<std::string> PowercapFolder::energy_files() const {
  std::vector<std::string> files;
  for (const char* zone : kZones)
    files.push_back(root_ + "/sys/class/powercap/" + zone + "/energy_uj");
  return files;
}

std::vector<std::unique_ptr<InstantSource>> instant_gpus(int count, bool gauges, Seconds tick) {
  std::vector<std::unique_ptr<InstantSource>> sources;
  for (int i = 0; i < count; ++i) {
    // Ids as long as real ones: a string that fits into itself would flatter us.
    const std::string id = fmt::format("gpu:GPU-7714b111-2330-4132-8{:03}-{:012}", i, i + 1);
    SourceInfo info = info_of(id, id, "board", tick);
    info.max_power = Watts(1400);
    info.offset = Watts(5);
    sources.push_back(std::make_unique<InstantSource>(info));
    if (!gauges) continue;
    info.id += "/power-instant";
    info.kind = SourceKind::kPowerGauge;
    info.overlaps = id;
    info.averaging = Seconds(0.025);
    info.coverage = 0.25;
    sources.push_back(std::make_unique<InstantSource>(info));
  }
  return sources;
}

std::vector<std::unique_ptr<InstantSource>> instant_packages() {
  std::vector<std::unique_ptr<InstantSource>> sources;
  for (const char* package : {"cpu:0", "cpu:1"}) {
    for (const char* scope : {"package", "dram"}) {
      SourceInfo info = info_of(std::string(package) + "/" + scope, package, scope, Seconds(1e-3));
      info.modulus_micro = 262'143'328'911;
      info.max_power = Watts(2000);
      sources.push_back(std::make_unique<InstantSource>(info));
    }
  }
  return sources;
}

std::vector<Source*> borrowed(const std::vector<std::unique_ptr<InstantSource>>& sources) {
  std::vector<Source*> out;
  for (const auto& source : sources) out.push_back(source.get());
  return out;
}

}  // namespace perjoule::bench

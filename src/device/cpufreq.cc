#include "device/cpufreq.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "device/cpu_facts.h"
#include "device/cpu_package.h"
#include "device/plain_device.h"
#include "device/sysfs_power.h"

namespace perjoule {
namespace {

struct Policy {
  std::string number;  ///< of "policy8"
  std::string path;
};

/// One file in every policy of a package.
class PolicyKnob final : public Knob {
 public:
  PolicyKnob(KnobInfo info, std::vector<Policy> policies, std::string file)
      : info_(std::move(info)), policies_(std::move(policies)), file_(std::move(file)) {}
  const KnobInfo& info() const override { return info_; }

  Result<std::string> get() override {
    PJ_TRY(const std::vector<std::string> values, read_all());
    const bool same = std::all_of(values.begin(), values.end(), [&](const std::string& value) {
      return value == values.front();
    });
    if (same) return values.front();
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) {
      text += fmt::format("{}{}={}", i == 0 ? "" : ", ", policies_[i].number, values[i]);
    }
    return text;
  }

  Outcome set(const std::string& value) override {
    PJ_TRY(const std::vector<std::string> wanted, values_for_each(value));
    PJ_TRY(const std::vector<std::string> before, read_all());
    for (std::size_t i = 0; i < policies_.size(); ++i) {
      const Outcome written = write(i, wanted[i]);
      if (written) continue;
      for (std::size_t back = 0; back < i; ++back) (void)write(back, before[back]);
      Error error = written.error();
      if (error.code == ErrorCode::kPermissionDenied)
        error.remedy = "setting " + info_.id + " needs root";
      return tl::unexpected<Error>(std::move(error));
    }
    return {};
  }

 private:
  bool is_clock() const { return !info_.unit.empty(); }

  Result<std::vector<std::string>> read_all() const {
    std::vector<std::string> values;
    for (const Policy& policy : policies_) {
      PJ_TRY(const std::string text, read_attribute(policy.path + "/" + file_));
      if (!is_clock()) {
        values.push_back(text);
        continue;
      }
      const auto kilohertz = parse_number(text);
      if (!kilohertz)
        return Error::data_loss(policy.path + "/" + file_ + ": not a number: '" + text + "'");
      values.push_back(fmt::format("{} MHz", *kilohertz / 1e3));
    }
    return values;
  }

  Outcome write(std::size_t policy, const std::string& value) const {
    const std::string path = policies_[policy].path + "/" + file_;
    if (!is_clock()) return write_attribute(path, value);
    const auto megahertz = leading_number(value);
    return write_attribute(path, fmt::format("{}", std::llround(megahertz.value_or(0) * 1e3)));
  }

  Outcome check(const std::string& value) const {
    if (is_clock()) {
      const auto number = knob_number(info_, value);
      return number ? Outcome() : Outcome(fail(number));
    }
    const auto& words = info_.choices;
    if (words.empty() || std::find(words.begin(), words.end(), value) != words.end()) return {};
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
    return Error::invalid_argument(
        fmt::format("{} of {}: not one of its words: '{}'", info_.name, info_.device, value),
        "choose one of " + list);
  }

  /// "performance" for all, or "0=powersave, 8=performance" as get() writes it.
  Result<std::vector<std::string>> values_for_each(const std::string& value) const {
    std::vector<std::string> values(policies_.size(), value);
    if (value.find('=') != std::string::npos) {
      std::fill(values.begin(), values.end(), "");
      for (const std::string& part : list_words({value})) {
        const std::string number = part.substr(0, part.find('='));
        const auto policy =
            std::find_if(policies_.begin(), policies_.end(),
                         [&number](const Policy& one) { return one.number == number; });
        if (policy == policies_.end() || part.size() <= number.size()) {
          return Error::invalid_argument(
              fmt::format("{} of {}: no policy '{}'", info_.name, info_.device, part));
        }
        values[static_cast<std::size_t>(policy - policies_.begin())] =
            part.substr(number.size() + 1);
      }
    }
    for (const std::string& one : values) PJ_CHECK(check(one));
    return values;
  }

  KnobInfo info_;
  std::vector<Policy> policies_;
  std::string file_;
};

std::vector<std::string> words_of(const std::string& path) {
  std::vector<std::string> words;
  const auto text = read_attribute(path);
  if (!text) return words;
  for (const std::string_view word : split(*text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

std::map<int, std::vector<Policy>> policies_by_package(const Roots& roots) {
  std::map<int, std::vector<Policy>> packages;
  const std::string root = roots.sysfs + "/devices/system/cpu/cpufreq";
  for (const std::string& folder : list_folder(root)) {
    if (folder.rfind("policy", 0) != 0) continue;
    Policy policy{folder.substr(6), fmt::format("{}/{}", root, folder)};
    // The policy's number is that of its first processor.
    const auto package = sysfs_number(fmt::format(
        "{}/devices/system/cpu/cpu{}/topology/physical_package_id", roots.sysfs, policy.number));
    const int number = package && *package >= 0 ? static_cast<int>(*package) : 0;
    packages[number].push_back(std::move(policy));
  }
  for (auto& [number, policies] : packages) {
    std::sort(policies.begin(), policies.end(), [](const Policy& a, const Policy& b) {
      return parse_integer(a.number).value_or(0) < parse_integer(b.number).value_or(0);
    });
  }
  return packages;
}

void add_words(PlainDevice& device, const std::vector<Policy>& policies, const char* suffix,
               const char* name, const char* file, const char* choices) {
  if (!path_exists(policies.front().path + "/" + file)) return;
  KnobInfo info;
  info.device = device.info().id;
  info.id = info.device + suffix;
  info.name = name;
  info.choices = words_of(policies.front().path + "/" + choices);
  device.add(std::make_unique<PolicyKnob>(std::move(info), policies, file));
}

void add_clock(PlainDevice& device, const std::vector<Policy>& policies) {
  const std::string& first = policies.front().path;
  const auto lowest = sysfs_number(first + "/cpuinfo_min_freq");
  const auto highest = sysfs_number(first + "/cpuinfo_max_freq");
  if (!lowest || !highest || !path_exists(first + "/scaling_max_freq")) return;
  KnobInfo info;
  info.device = device.info().id;
  info.id = info.device + "/clock";
  info.name = "processor clock";
  info.unit = "MHz";
  info.minimum = *lowest / 1e3;
  info.maximum = *highest / 1e3;
  // Hybrid parts: what the slower cores cannot reach they hold at their own maximum.
  for (const Policy& policy : policies) {
    const auto more = sysfs_number(policy.path + "/cpuinfo_max_freq");
    if (more) info.maximum = std::max(info.maximum, *more / 1e3);
  }
  info.default_value = fmt::format("{} MHz", info.maximum);
  device.add(std::make_unique<PolicyKnob>(std::move(info), policies, "scaling_max_freq"));
}

}  // namespace

Discovered discover_cpufreq(const Roots& roots) {
  Discovered found;
  for (const auto& [number, policies] : policies_by_package(roots)) {
    auto device = std::make_unique<PlainDevice>(
        describe_cpu_package(read_cpu_facts(roots), number, "cpufreq"));
    add_words(*device, policies, "/governor", "governor", "scaling_governor",
              "scaling_available_governors");
    add_words(*device, policies, "/energy-preference", "energy preference",
              "energy_performance_preference", "energy_performance_available_preferences");
    add_clock(*device, policies);
    if (!device->knobs().empty()) found.devices.push_back(std::move(device));
  }
  return found;
}

}  // namespace perjoule

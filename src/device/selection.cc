#include "device/selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::size_t kShortestPciForm = 7;  // "65:00.0"

/// "00000000:65:00.0", "0000:65:00.0" and "65:00.0" as sysfs writes them, or empty.
std::string pci_address(std::string_view word) {
  if (word.size() < kShortestPciForm || word[word.size() - 2] != '.') return {};
  const std::string_view tail = word.size() > 12 ? word.substr(word.size() - 12) : word;
  const bool with_domain = std::count(tail.begin(), tail.end(), ':') == 2;
  if (!with_domain && std::count(tail.begin(), tail.end(), ':') != 1) return {};
  std::string address = with_domain ? std::string(tail) : "0000:" + std::string(tail);
  std::transform(address.begin(), address.end(), address.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return address;
}

bool holds(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string candidates(const std::vector<DeviceInfo>& devices) {
  std::string words;
  for (const DeviceInfo& info : devices) {
    words += (words.empty() ? "" : ", ") + info.id;
    if (!info.pci.empty()) words += " (" + info.pci + ")";
  }
  return words.empty() ? "none" : words;
}

using Found = std::vector<const DeviceInfo*>;

class Words {
 public:
  Words(const std::vector<DeviceInfo>& devices, const VisibleDevices& visible)
      : devices_(devices), visible_(visible) {}

  Outcome add(std::string_view word) {
    if (word == "all") return take(by([](const DeviceInfo&) { return true; }));
    for (const DeviceKind kind :
         {DeviceKind::kGpu, DeviceKind::kCpu, DeviceKind::kNode, DeviceKind::kBattery}) {
      if (word == name_of(kind)) return take_kind(kind);
    }
    const Found found = find(word);
    if (found.empty()) {
      return Error::not_found(fmt::format("no device is called '{}'", word),
                              "the devices here are " + candidates(devices_));
    }
    if (found.size() > 1) {
      std::vector<DeviceInfo> fitting;
      for (const DeviceInfo* info : found) fitting.push_back(*info);
      return Error::invalid_argument(fmt::format("'{}' fits {} devices", word, found.size()),
                                     "write more of one of: " + candidates(fitting));
    }
    return take(found);
  }

  Selection finish() {
    Selection selection;
    for (const DeviceInfo& info : devices_) {
      if (holds(chosen_, info.id)) selection.devices.push_back(info.id);
    }
    selection.notes = std::move(notes_);
    return selection;
  }

 private:
  template <typename Test>
  Found by(const Test& test) const {
    Found found;
    for (const DeviceInfo& info : devices_) {
      if (test(info)) found.push_back(&info);
    }
    return found;
  }

  Outcome take(const Found& found) {
    for (const DeviceInfo* info : found) chosen_.push_back(info->id);
    return {};
  }

  Outcome take_kind(DeviceKind kind) {
    const Found of_kind = by([kind](const DeviceInfo& info) { return info.kind == kind; });
    Found visible;
    for (const DeviceInfo* info : of_kind) {
      if (holds(visible_.ids, info->id)) visible.push_back(info);
    }
    if (!visible.empty()) return take(visible);
    const std::string name(name_of(kind));
    if (!of_kind.empty()) {
      return Error::not_found("every " + name + " here is hidden by the visible-devices variables",
                              "name one by its id, or unset the variable");
    }
    return Error::not_found("there is no " + name + " here",
                            "the devices here are " + candidates(devices_));
  }

  /// Exact names first: an index or an id never loses to the beginning of a UUID.
  Found find(std::string_view word) {
    if (Found exact = by([&](const DeviceInfo& info) {
          return equals_ignoring_case(info.id, word) ||
                 (!info.uuid.empty() && equals_ignoring_case(info.uuid, word));
        });
        !exact.empty()) {
      return exact;
    }
    if (const std::string address = pci_address(word); !address.empty()) {
      return by([&](const DeviceInfo& info) { return info.pci == address; });
    }
    const bool prefixed = starts_with_ignoring_case(word, "gpu:");
    const std::string_view plain = prefixed ? word.substr(4) : word;
    if (const auto number = parse_integer(plain)) {
      return by([&](const DeviceInfo& info) {
        return info.kind == DeviceKind::kGpu && info.index == *number;
      });
    }
    if (starts_with_ignoring_case(plain, "MIG-")) return find_mig(plain);
    if (plain.empty()) return {};
    return by([&](const DeviceInfo& info) {
      return !info.uuid.empty() && starts_with_ignoring_case(info.uuid, plain);
    });
  }

  Found find_mig(std::string_view mig) {
    Found found = by([mig](const DeviceInfo& info) {
      const bool old_form =
          !info.uuid.empty() && starts_with_ignoring_case(mig, "MIG-" + info.uuid);
      return old_form || std::any_of(info.mig_uuids.begin(), info.mig_uuids.end(),
                                     [mig](const std::string& uuid) {
                                       return starts_with_ignoring_case(uuid, mig);
                                     });
    });
    for (const DeviceInfo* info : found) {
      notes_.push_back(
          fmt::format("{} is a slice of {}: energy exists only for the whole GPU", mig, info->id));
    }
    return found;
  }

  const std::vector<DeviceInfo>& devices_;
  const VisibleDevices& visible_;
  std::vector<std::string> chosen_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<Selection> select_devices(const std::vector<DeviceInfo>& devices,
                                 const std::vector<std::string>& words,
                                 const VisibleDevices& visible) {
  if (words.empty()) return Selection{visible.ids, visible.notes};
  Words reader(devices, visible);
  for (const std::string& word : words) PJ_CHECK(reader.add(word));
  return reader.finish();
}

std::vector<std::string> short_words(const std::vector<DeviceInfo>& devices) {
  std::vector<std::string> words;
  for (const DeviceInfo& info : devices) {
    const bool gpu = info.kind == DeviceKind::kGpu;
    // Two vendors count their GPUs from 0 each.
    const bool alone =
        std::none_of(devices.begin(), devices.end(), [&info](const DeviceInfo& other) {
          return other.kind == DeviceKind::kGpu && other.index == info.index && other.id != info.id;
        });
    words.push_back(gpu && alone ? fmt::format("gpu:{}", info.index) : info.id);
  }
  return words;
}

Result<ChosenSources> choose_sources(const Inventory& machine,
                                     const std::vector<std::string>& words,
                                     const VisibleVariables& variables) {
  std::vector<DeviceInfo> infos;
  for (const auto& device : machine.devices) infos.push_back(device->info());
  const std::vector<Source*> all = machine.sources();
  std::vector<std::string> single;  // sources named by their own ids
  std::vector<std::string> rest;
  for (const std::string& word : words) {
    const bool is_device = machine.find_device(word) != nullptr;
    const bool is_source = std::any_of(
        all.begin(), all.end(), [&word](Source* source) { return source->info().id == word; });
    (is_source && !is_device ? single : rest).push_back(word);
  }
  ChosenSources chosen;
  Selection selection;
  if (!rest.empty() || words.empty()) {
    auto selected = select_devices(infos, rest, visible_devices(infos, variables));
    if (!selected) {
      Error error = selected.error();
      error.remedy += "; perjoule devices lists their sources";
      return tl::unexpected<Error>(std::move(error));
    }
    selection = std::move(*selected);
  }
  for (const auto& device : machine.devices) {
    bool any = false;
    for (Source* source : device->sources()) {
      const std::string& id = source->info().id;
      if (!holds(selection.devices, device->info().id) && !holds(single, id)) continue;
      chosen.sources.push_back(source);
      chosen.ids.push_back(id);
      any = true;
    }
    if (any) chosen.devices.push_back(device->info().id);
  }
  chosen.notes = std::move(selection.notes);
  if (chosen.sources.empty()) {
    return Error::unavailable("nothing that was chosen can be measured or estimated",
                              "perjoule doctor says why");
  }
  return chosen;
}

}  // namespace perjoule

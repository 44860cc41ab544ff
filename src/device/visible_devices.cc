#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "device/selection.h"

namespace perjoule {
namespace {

using Gpus = std::vector<const DeviceInfo*>;

Gpus gpus_of(const std::vector<DeviceInfo>& devices, std::string_view vendor) {
  Gpus gpus;
  for (const DeviceInfo& info : devices) {
    if (info.kind == DeviceKind::kGpu && info.vendor == vendor) gpus.push_back(&info);
  }
  std::stable_sort(gpus.begin(), gpus.end(),
                   [](const DeviceInfo* a, const DeviceInfo* b) { return a->index < b->index; });
  return gpus;
}

bool one_model(const Gpus& gpus) {
  return std::all_of(gpus.begin(), gpus.end(),
                     [&gpus](const DeviceInfo* info) { return info->name == gpus.front()->name; });
}

/// A variable's list over some GPUs, read by its owner's rules.
class VisibleList {
 public:
  VisibleList(std::string variable, const Gpus& gpus)
      : variable_(std::move(variable)), gpus_(gpus) {}

  /// What is visible, in the order of the list. Stops at the first entry that is not valid.
  Gpus read(const std::string& text) {
    Gpus out;
    for (const std::string_view entry : split(text, ',')) {
      const std::string_view word = trim(entry);
      const DeviceInfo* gpu = find(word);
      if (gpu == nullptr) {
        stopped_at_ = word;
        break;
      }
      if (std::find(out.begin(), out.end(), gpu) == out.end()) out.push_back(gpu);
    }
    return out;
  }
  const std::string& stopped_at() const { return stopped_at_; }
  bool by_number() const { return by_number_; }
  std::vector<std::string>& notes() { return notes_; }

 private:
  const DeviceInfo* find(std::string_view word) {
    if (const auto number = parse_integer(word)) {
      by_number_ = true;
      const bool valid = *number >= 0 && static_cast<std::size_t>(*number) < gpus_.size();
      return valid ? gpus_[static_cast<std::size_t>(*number)] : nullptr;
    }
    if (starts_with_ignoring_case(word, "MIG-")) return parent_of(word);
    const DeviceInfo* found = nullptr;
    for (const DeviceInfo* gpu : gpus_) {
      if (word.empty() || gpu->uuid.empty() || !starts_with_ignoring_case(gpu->uuid, word))
        continue;
      if (found != nullptr) return nullptr;  // CUDA takes a beginning only when it is unique
      found = gpu;
    }
    return found;
  }

  const DeviceInfo* parent_of(std::string_view mig) {
    for (const DeviceInfo* gpu : gpus_) {
      // Drivers before R470 name an instance by its parent: MIG-GPU-<uuid>/<instance>/<compute>.
      const bool old_form =
          !gpu->uuid.empty() && starts_with_ignoring_case(mig, "MIG-" + gpu->uuid);
      const bool listed = std::any_of(
          gpu->mig_uuids.begin(), gpu->mig_uuids.end(),
          [mig](const std::string& uuid) { return starts_with_ignoring_case(uuid, mig); });
      if (!old_form && !listed) continue;
      notes_.push_back(
          fmt::format("{} names {}, a slice of {}: energy exists only for the whole GPU", variable_,
                      mig, gpu->id));
      return gpu;
    }
    return nullptr;
  }

  std::string variable_;
  const Gpus& gpus_;
  std::string stopped_at_;
  bool by_number_ = false;
  std::vector<std::string> notes_;
};

/// Applies one list and says what came of it.
Gpus apply(const char* variable, const std::string& text, const Gpus& gpus,
           std::vector<std::string>& notes) {
  VisibleList list(variable, gpus);
  Gpus visible = list.read(text);
  for (std::string& note : list.notes()) notes.push_back(std::move(note));
  const std::string& bad = list.stopped_at();
  if (!bad.empty() && bad != "-1") {
    notes.push_back(fmt::format("{}={} ends at '{}', which is no GPU here", variable, text, bad));
  }
  return visible;
}

Gpus visible_to_cuda(const Gpus& gpus, const VisibleVariables& variables,
                     std::vector<std::string>& notes) {
  constexpr const char* kName = "CUDA_VISIBLE_DEVICES";
  const std::string& text = *variables.cuda;
  VisibleList probe(kName, gpus);
  const Gpus visible = probe.read(text);
  // Numbers follow CUDA's own order. GPUs of one model keep PCI order in it; of several, only the
  // CUDA library knows which is the fastest, and a guess would measure somebody else's GPU.
  if (probe.by_number() && variables.cuda_order != "PCI_BUS_ID" && !one_model(gpus) &&
      !visible.empty() && visible.size() < gpus.size()) {
    notes.push_back(fmt::format(
        "{}={} counts fastest first over GPUs of several models, an order only CUDA knows: all are "
        "measured; set CUDA_DEVICE_ORDER=PCI_BUS_ID or use UUIDs",
        kName, text));
    return gpus;
  }
  return apply(kName, text, gpus, notes);
}

Gpus visible_in_container(const Gpus& gpus, const std::string& text,
                          std::vector<std::string>& notes) {
  if (text.empty() || text == "void" || text == "all") return gpus;
  if (text == "none") return {};
  VisibleList list("NVIDIA_VISIBLE_DEVICES", gpus);
  Gpus visible = list.read(text);
  const bool fits = list.stopped_at().empty() && split(text, ',').size() < gpus.size();
  // A container shows only what the runtime let in, numbered anew: the list has done its work.
  if (!fits) return gpus;
  for (std::string& note : list.notes()) notes.push_back(std::move(note));
  return visible;
}

bool contains(const Gpus& gpus, const DeviceInfo& info) {
  return std::any_of(gpus.begin(), gpus.end(),
                     [&info](const DeviceInfo* gpu) { return gpu->id == info.id; });
}

std::string list_of(const VisibleVariables& variables) {
  std::string words;
  const auto add = [&words](const char* name, const std::optional<std::string>& value) {
    if (value) words += fmt::format("{}{}={}", words.empty() ? "" : ", ", name, *value);
  };
  add("CUDA_VISIBLE_DEVICES", variables.cuda);
  add("NVIDIA_VISIBLE_DEVICES", variables.nvidia);
  add("ROCR_VISIBLE_DEVICES", variables.rocr);
  add("HIP_VISIBLE_DEVICES", variables.hip);
  return words;
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);  // set but empty differs from unset
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

VisibleVariables VisibleVariables::from_environment() {
  VisibleVariables variables;
  variables.cuda = variable("CUDA_VISIBLE_DEVICES");
  variables.nvidia = variable("NVIDIA_VISIBLE_DEVICES");
  variables.hip = variable("HIP_VISIBLE_DEVICES");
  variables.rocr = variable("ROCR_VISIBLE_DEVICES");
  variables.cuda_order = variable("CUDA_DEVICE_ORDER").value_or("");
  return variables;
}

VisibleDevices visible_devices(const std::vector<DeviceInfo>& devices,
                               const VisibleVariables& variables) {
  VisibleDevices out;
  Gpus nvidia = gpus_of(devices, "NVIDIA");
  if (variables.nvidia) nvidia = visible_in_container(nvidia, *variables.nvidia, out.notes);
  if (variables.cuda && !nvidia.empty()) nvidia = visible_to_cuda(nvidia, variables, out.notes);
  Gpus amd = gpus_of(devices, "AMD");
  if (variables.rocr && !amd.empty())
    amd = apply("ROCR_VISIBLE_DEVICES", *variables.rocr, amd, out.notes);
  if (variables.hip && !amd.empty()) {
    amd = apply("HIP_VISIBLE_DEVICES", *variables.hip, amd, out.notes);
  } else if (variables.cuda && !amd.empty()) {
    amd = apply("CUDA_VISIBLE_DEVICES", *variables.cuda, amd, out.notes);
  }
  std::size_t gpus = 0;
  for (const DeviceInfo& info : devices) {
    const bool governed =
        info.kind == DeviceKind::kGpu && (info.vendor == "NVIDIA" || info.vendor == "AMD");
    gpus += info.kind == DeviceKind::kGpu ? 1 : 0;
    const bool hidden = governed && !contains(info.vendor == "AMD" ? amd : nvidia, info);
    (hidden ? out.hidden : out.ids).push_back(info.id);
  }
  if (!out.hidden.empty()) {
    out.notes.push_back(
        fmt::format("{} of {} GPUs left out, hidden by {}; --sources all takes them in",
                    out.hidden.size(), gpus, list_of(variables)));
  }
  return out;
}

}  // namespace perjoule

#include "device/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "device/cpu_facts.h"
#include "device/journal.h"

namespace perjoule {
namespace {

using Weight = Finding::Weight;

class Diagnosis {
 public:
  Diagnosis(const Inventory& machine, const Roots& roots, const DiagnosisOptions& options)
      : machine_(machine), roots_(roots), options_(options) {}

  std::vector<Finding> run() {
    look_at_problems();
    look_at_cpu();
    for (const auto& device : machine_.devices) look_at_gpu(device->info());
    look_at_setting();
    look_at_journal();
    return std::move(findings_);
  }

 private:
  void say(Weight weight, std::string subject, std::string text, std::string remedy = {}) {
    findings_.push_back({weight, std::move(subject), std::move(text), std::move(remedy)});
  }

  void look_at_problems() {
    for (const Problem& problem : machine_.problems) {
      // A feature the hardware does not have is worth a word; the others take something away.
      const bool absent = problem.error.code == ErrorCode::kNotSupported;
      say(absent ? Weight::kNote : Weight::kHindrance, problem.subject, problem.error.message,
          problem.error.remedy);
    }
  }

  bool problem_with_cpu() const {
    return std::any_of(
        machine_.problems.begin(), machine_.problems.end(),
        [](const Problem& problem) { return problem.subject.rfind("cpu:", 0) == 0; });
  }

  /// They are there, in a virtual machine too, and this user may not read them: said already, with
  /// the remedy.
  bool counters_are_closed() const {
    return std::any_of(machine_.problems.begin(), machine_.problems.end(),
                       [](const Problem& problem) {
                         return problem.subject.rfind("cpu:", 0) == 0 &&
                                problem.error.code == ErrorCode::kPermissionDenied;
                       });
  }

  void look_at_cpu() {
    const CpuFacts facts = read_cpu_facts(roots_);
    bool measured = false;
    bool estimated = false;
    for (const Source* source : machine_.sources()) {
      const SourceInfo& info = source->info();
      if (info.device.rfind("cpu:", 0) != 0) continue;
      estimated |= info.status == Status::kEstimated;
      measured |= info.status != Status::kEstimated && info.boundary == Boundary::kDevice;
    }
    if (measured) return say(Weight::kFine, "CPU energy", "counted by the processors");
    const std::string instead = estimated ? "; it is estimated from CPU time (grade D)" : "";
    if (facts.hypervisor && !counters_are_closed()) {
      say(Weight::kHindrance, "CPU energy",
          "this is a virtual machine, which is not given the processors' counters" + instead,
          "measure on the host, or take the estimate for what it is");
    } else if (!problem_with_cpu()) {
      say(Weight::kHindrance, "CPU energy", "no energy counter of a processor was found" + instead,
          "load the driver: modprobe intel_rapl_msr (Intel and AMD)");
    }
    look_at_perf();
  }

  void look_at_perf() {
    const auto paranoid = read_attribute(roots_.procfs + "/sys/kernel/perf_event_paranoid");
    const std::int64_t level = paranoid ? parse_integer(*paranoid).value_or(0) : 0;
    if (!path_exists(roots_.sysfs + "/bus/event_source/devices/power")) return;
    if (level <= 0 || options_.root) return;
    say(Weight::kNote, "perf events",
        fmt::format("kernel.perf_event_paranoid is {}: RAPL's perf events are closed to users",
                    level),
        "setcap cap_perfmon=ep on the program, or sysctl kernel.perf_event_paranoid=0");
  }

  void look_at_gpu(const DeviceInfo& info) {
    if (info.kind != DeviceKind::kGpu) return;
    if (info.persistence == false) {
      say(Weight::kNote, info.id,
          "persistence mode is off: when its last client ends the driver unloads, and power limits "
          "and clock locks are lost",
          "nvidia-smi -pm 1 as root, or nvidia-persistenced");
    }
    if (!info.mig_uuids.empty()) say(Weight::kNote, info.id, info.note);
  }

  void look_at_setting() {
    if (options_.root) return;
    std::string ids;
    for (const Knob* knob : machine_.knobs()) ids += (ids.empty() ? "" : ", ") + knob->info().id;
    if (ids.empty()) return;
    say(Weight::kNote, "settings", "power limits, clocks and governors need root to be set: " + ids,
        "run sweeps as root; in a container give it CAP_SYS_ADMIN");
  }

  void look_at_journal() {
    const std::vector<DeadEntry> dead = dead_entries(options_.journal_folder);
    for (const DeadEntry& entry : dead) {
      if (entry.elsewhere) {
        say(Weight::kNote, entry.knob,
            fmt::format("held by process {} of another container or host, found at {}", entry.pid,
                        entry.original),
            "once it has ended there, run perjoule doctor there, or remove its file in " +
                options_.journal_folder);
        continue;
      }
      say(entry.this_boot ? Weight::kHindrance : Weight::kNote, entry.knob,
          fmt::format("process {} ended without putting it back to {}", entry.pid, entry.original),
          "perjoule doctor puts it back, as a user who may set it");
    }
    if (dead.empty()) say(Weight::kFine, "knob journal", "no setting is left behind");
  }

  const Inventory& machine_;
  const Roots& roots_;
  const DiagnosisOptions& options_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view name_of(Finding::Weight weight) {
  constexpr std::string_view kNames[] = {"fine", "note", "hindrance"};
  return kNames[static_cast<int>(weight)];
}

std::vector<Finding> diagnose(const Inventory& machine, const Roots& roots,
                              const DiagnosisOptions& options) {
  return Diagnosis(machine, roots, options).run();
}

bool is_hindered(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.weight == Finding::Weight::kHindrance;
  });
}

}  // namespace perjoule

#include "twin/workload.h"

#include <dlfcn.h>

#include <utility>

#include "device/nvml_abi.h"
#include "twin/gpu_model.h"
#include "twin/job_table.h"
#include "twin/standin.h"

namespace perjoule::twin {
namespace {

constexpr double kSlot = 0.01;  // one round of the duty cycle, seconds
constexpr int kSlotsInStep = 10;
constexpr double kStraggle = 1.5;  // work of the last device
constexpr perjoule_twin_phase kNothing = {0, 0, 1, -1, 0, 0, 0};

/// A device as far as work is measured for it.
struct Target {
  unsigned index = 0;
  double flop_per_s = 0;
  double bytes_per_s = 0;
  std::string_view model;  ///< key of its GpuModel
  perjoule_twin_phase job_step = kNothing;
};

class Machine {
 public:
  static Result<Machine> open(const std::string& name) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* const wrong = handle == nullptr ? dlerror() : nullptr;
    if (handle == nullptr) {
      return Error::unavailable("cannot open " + name + ": " + wrong,
                                "run this under perjoule twin run");
    }
    Machine machine(handle);
    if (!machine.find("perjoule_twin_post") || machine.call("nvmlInit_v2") != nvml::kSuccess) {
      return Error::unavailable("there is no simulated machine here",
                                "run this under perjoule twin run");
    }
    return machine;
  }

  Result<Target> target(int index) const {
    nvml::Device device = nullptr;
    char name[96] = {};
    const auto number = static_cast<unsigned>(index);
    if (index < 0 || call("nvmlDeviceGetHandleByIndex_v2", number, &device) != nvml::kSuccess ||
        call("nvmlDeviceGetName", device, &name[0], unsigned{sizeof name}) != nvml::kSuccess) {
      return Error::not_found("no such simulated device: " + std::to_string(index));
    }
    for (const GpuModel& model : gpu_models()) {
      if (model.name != name) continue;
      return Target{number, model.silicon.flop_per_s, model.silicon.bytes_per_s, model.key};
    }
    return Error::not_supported(std::string("a device that is played back does no work: ") + name);
  }

  int device_count() const {
    unsigned count = 0;
    call("nvmlDeviceGetCount_v2", &count);
    return static_cast<int>(count);
  }

  /// Posts one phase on each device and waits for all of them.
  Outcome together(const std::vector<Target>& targets,
                   const std::function<perjoule_twin_phase(const Target&)>& phase_of) const {
    std::vector<unsigned long long> tickets(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const perjoule_twin_phase phase = phase_of(targets[i]);
      PJ_CHECK(check(call("perjoule_twin_post", targets[i].index, &phase, &tickets[i])));
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      PJ_CHECK(check(call("perjoule_twin_wait", targets[i].index, tickets[i])));
    }
    return {};
  }

 private:
  explicit Machine(void* handle) : handle_(handle) {}
  bool find(const char* name) const { return dlsym(handle_, name) != nullptr; }
  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(handle_, name));
    return function == nullptr ? nvml::kFunctionNotFound : function(arguments...);
  }
  static Outcome check(int code) {
    if (code == nvml::kSuccess) return {};
    return Error::unavailable("the simulated device refused the work: NVML code " +
                              std::to_string(code));
  }

  void* handle_;
};

Outcome matmul_step(const Machine& machine, const std::vector<Target>& targets,
                    const WorkOptions& options) {
  for (int slot = 0; slot < kSlotsInStep; ++slot) {
    PJ_CHECK(machine.together(targets, [&](const Target& t) {
      perjoule_twin_phase phase = kNothing;
      phase.flop = t.flop_per_s * kSlot * options.duty;
      phase.activity = options.activity;
      phase.dram_share = 0.15;
      return phase;
    }));
    PJ_CHECK(machine.together(targets, [&](const Target& t) {
      perjoule_twin_phase phase = kNothing;
      phase.bytes = 0.9 * t.bytes_per_s * kSlot * (1 - options.duty);
      phase.activity = 0.1;
      return phase;
    }));
  }
  return {};
}

Outcome lockstep(const Machine& machine, const std::vector<Target>& targets,
                 const WorkOptions& options) {
  PJ_CHECK(machine.together(targets, [&](const Target& t) {
    const bool slow = options.kind == WorkKind::kStraggler && t.index == targets.back().index;
    perjoule_twin_phase phase = kNothing;
    phase.flop = 0.1 * t.flop_per_s * (slow ? kStraggle : 1);
    phase.activity = 0.8 * options.activity;
    phase.dram_share = 0.3;
    return phase;
  }));
  return machine.together(targets, [](const Target& t) {
    perjoule_twin_phase phase = kNothing;
    phase.bytes = 0.02 * t.bytes_per_s;
    phase.activity = 0.1;
    phase.link_share = 1;
    return phase;
  });
}

// The sweeps that the jobs were fitted to counted this many steps.
constexpr int kFittedSteps = 40;

Outcome set_job(const std::string& name, Target& target) {
  const Job* const job = find_job(name, target.model);
  if (job == nullptr) {
    return Error::not_supported(
        "no sweep of " + name + " is known for " + std::string(target.model),
        "V100 and A40 have some");
  }
  PJ_TRY(const GpuModel* const model, find_gpu_model(target.model));
  const Phase step = step_of(*job, model->silicon, kFittedSteps);
  target.job_step.flop = step.flop;
  target.job_step.activity = step.activity;
  target.job_step.pace_s = step.pace_s;
  return {};
}

Outcome one_step(const Machine& machine, const std::vector<Target>& targets,
                 const WorkOptions& options) {
  switch (options.kind) {
    case WorkKind::kMatmul:
      return matmul_step(machine, targets, options);
    case WorkKind::kAllreduce:
    case WorkKind::kStraggler:
      return lockstep(machine, targets, options);
    case WorkKind::kDecode:
      return machine.together(targets, [&](const Target& t) {
        perjoule_twin_phase phase = kNothing;
        phase.bytes = 0.025 * t.bytes_per_s;
        phase.flop = 0.002 * t.flop_per_s;
        phase.activity = 0.2 * options.activity;
        return phase;
      });
    case WorkKind::kJob:
      return machine.together(targets, [](const Target& t) { return t.job_step; });
    case WorkKind::kTraining:
      break;
  }
  return machine.together(targets, [&](const Target& t) {
    perjoule_twin_phase phase = kNothing;
    phase.flop = 0.15 * t.flop_per_s;
    phase.bytes = 0.06 * t.bytes_per_s;
    phase.activity = 0.8 * options.activity;
    phase.host_s = 0.01;
    return phase;
  });
}

}  // namespace

Outcome set_work(std::string_view word, WorkOptions& options) {
  constexpr std::pair<std::string_view, WorkKind> kWords[] = {
      {"training", WorkKind::kTraining},   {"matmul", WorkKind::kMatmul},
      {"decode", WorkKind::kDecode},       {"allreduce", WorkKind::kAllreduce},
      {"straggler", WorkKind::kStraggler},
  };
  for (const auto& [name, kind] : kWords) {
    if (name != word) continue;
    options.kind = kind;
    return {};
  }
  for (const Job& job : shipped_jobs()) {
    if (job.name != word) continue;
    options.kind = WorkKind::kJob;
    options.job = word;
    return {};
  }
  return Error::invalid_argument(
      "no such work: " + std::string(word),
      "there are training, matmul, decode, allreduce, straggler, and the "
      "jobs resnet50, resnet18, bert-base-uncased and shufflenetv2");
}

Outcome run_work(const std::string& library, const WorkOptions& options,
                 const std::function<void(int)>& on_step) {
  if (options.steps < 1 || !(options.duty >= 0 && options.duty <= 1) || !(options.activity >= 0)) {
    return Error::out_of_range("steps must be at least 1, duty from 0 to 1, activity at least 0");
  }
  PJ_TRY(const Machine machine, Machine::open(library));
  std::vector<int> devices = options.devices;
  for (int i = 0; options.devices.empty() && i < machine.device_count(); ++i) {
    devices.push_back(i);
  }
  std::vector<Target> targets;
  for (const int index : devices) {
    PJ_TRY(Target target, machine.target(index));
    if (options.kind == WorkKind::kJob) PJ_CHECK(set_job(options.job, target));
    targets.push_back(target);
  }
  for (int step = 1; step <= options.steps; ++step) {
    PJ_CHECK(one_step(machine, targets, options));
    on_step(step);
  }
  return {};
}

}  // namespace perjoule::twin

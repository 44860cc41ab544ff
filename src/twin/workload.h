// Programs for a simulated machine: they post phases through the stand-in library, as a real
// program launches kernels, and say each step that has ended.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perjoule::twin {

enum class WorkKind {
  kTraining,   ///< steps of compute and memory, fed by a host
  kMatmul,     ///< dense MatMul alternating with memory reads, by a duty share
  kDecode,     ///< token after token, bound by memory
  kAllreduce,  ///< training in lockstep: compute, then the link
  kStraggler,  ///< lockstep in which the last device has half as much work again
  kJob,        ///< steps of a real training, as fitted to its power-limit sweep (job_table.h)
};

struct WorkOptions {
  WorkKind kind = WorkKind::kTraining;
  std::string job = {};  ///< its name, for kJob
  int steps = 10;
  double duty = 0.5;              ///< share of MatMul in kMatmul
  double activity = 1;            ///< scales the switching activity: 0.35 for zeros
  std::vector<int> devices = {};  ///< indices; empty: all
};

/// Sets the kind of work, or the job, that a word names.
Outcome set_work(std::string_view word, WorkOptions& options);

/// Runs it on the library that the loader finds by that name. `on_step` is told each step's number,
/// from 1, when the step has ended on all devices.
Outcome run_work(const std::string& library, const WorkOptions& options,
                 const std::function<void(int)>& on_step);

}  // namespace perjoule::twin

// Runs a command on a simulated machine: a private folder with the control block (and, asked for, a
// powercap tree), the stand-in library first on the loader's path, signals passed on, and the
// folder removed at the end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "twin/fault.h"

namespace perjoule::twin {

struct LaunchOptions {
  std::vector<std::string> gpus = {};  ///< "h100:8": key and number, default one
  std::vector<Fault> faults = {};
  std::string replay = {};  ///< a recording to play back instead of simulating
  double speed = 1;         ///< simulated seconds in a real one
  bool powercap = false;
  bool keep = false;  ///< leave the folder behind
  std::vector<std::string> command = {};
  std::string standin_folder = {};  ///< see find_standin_folder()
};

/// What has been done, beside the command's own status.
struct LaunchOutcome {
  int status = 0;           ///< the command's: exit status, or 128 + signal
  std::string folder = {};  ///< when it was kept
};

/// Keys of devices from "h100:8" and "a100".
Result<std::vector<std::string>> parse_gpus(const std::vector<std::string>& words);

/// The folder with the stand-in library: PERJOULE_TWIN_LIB, or lib/twin beside our own program
/// (build tree), or ../lib/perjoule/twin (installed).
Result<std::string> find_standin_folder();

/// What a program's environment needs for it to find the machine whose control block is
/// `folder`/machine, through the library in `libraries`: names and values.
std::vector<std::pair<std::string, std::string>> machine_variables(const std::string& folder,
                                                                   const std::string& libraries);

Result<LaunchOutcome> launch(const LaunchOptions& options);

}  // namespace perjoule::twin

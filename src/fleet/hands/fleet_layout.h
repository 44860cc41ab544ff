// A real fleet as its owner describes it: servers, the instances that may run on each, and where
// their GPUs are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace perjoule {

/// An engine that runs, or may run, on a server.
struct FleetInstance {
  std::string name;               ///< of letters, digits, '.', '_' and '-', as servers' are
  std::vector<std::string> gpus;  ///< words of device/selection.h, of the machine it runs on
  int tensor_parallel = 1;
  std::uint16_t port = 0;  ///< of its metrics page
  std::size_t layout = 0;  ///< of EngineCapacity
};

/// Which of a server's instances run: indices of them, rising. No two share a GPU.
using Division = std::vector<std::size_t>;

struct FleetServer {
  std::string name;
  std::size_t pool = 0;
  std::string pool_name;  ///< "MM", "mixed"
  std::vector<FleetInstance> instances;
  Division division;  ///< as it is found
  bool is_on = true;
};

}  // namespace perjoule

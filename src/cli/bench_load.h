// The options that say what a server is asked and how often, and the load that they make.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"
#include "serving/load/load_generator.h"
#include "workload/bench_result.h"

namespace perjoule::cli {

std::vector<Option> bench_load_options();

/// What `perjoule bench run` sends.
struct BenchLoadPlan {
  RequestSet set;
  LoadOptions options;
  std::string task;
  std::string model;
  BenchLoad stated;                ///< as results have it
  std::vector<std::string> notes;  ///< what a reader must know of the requests
};

/// Reads the files that are named, and asks the server for its model where none is. O(bytes of
/// requests).
Result<BenchLoadPlan> read_bench_load(const Arguments& arguments);

/// An option that is a whole number from `least` on; none where it is not given.
Result<std::optional<std::int64_t>> read_count(const Arguments& arguments, std::string_view option,
                                               std::int64_t least = 1);
/// Of a number above 0.
Result<std::optional<double>> read_positive(const Arguments& arguments, std::string_view option);

}  // namespace perjoule::cli

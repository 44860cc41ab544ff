// What a benchmark says: one line of JSON a figure, which tools/bench turns into the table of
// docs/benchmarks.md.
//
//   print({.figure = "rapl_sample", .value = 5.2, .unit = "us", .bar = "<= 8", .pass = true,
//          .detail = "best of 7 x 20000"});
#pragma once

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/json.h"

namespace perjoule::bench {

struct Figure {
  std::string figure = {};  ///< key of tools/bench's table
  double value = 0;
  std::string unit = {};
  std::string bar = {};  ///< as text: "<= 8"
  bool pass = false;
  std::string detail = {};  ///< conditions and side figures
};

inline void print(const Figure& figure) {
  Json line = Json::object();
  line["figure"] = figure.figure;
  line["value"] = figure.value;
  line["unit"] = figure.unit;
  line["bar"] = figure.bar;
  line["pass"] = figure.pass;
  line["detail"] = figure.detail;
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

/// A benchmark has no one to hand an error to.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "benchmark: %s\n", result.error().text().c_str());
    std::exit(3);
  }
  return std::move(*result);
}
inline void must(const Outcome& outcome) {
  if (outcome) return;
  std::fprintf(stderr, "benchmark: %s\n", outcome.error().text().c_str());
  std::exit(3);
}

/// CPU seconds of the process, or of the calling thread: what others on the machine use is not in
/// them, so they hold on a shared machine where wall time does not.
inline double cpu_seconds(clockid_t which = CLOCK_PROCESS_CPUTIME_ID) {
  timespec spent{};
  ::clock_gettime(which, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

}  // namespace perjoule::bench

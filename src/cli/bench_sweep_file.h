// The file of a sweep: what all its points share, the server that is started for them, and the
// values of each.
//
//   [run]                                  # options of perjoule bench run, without --
//   url = "http://localhost:8000"
//   requests = 512
//   input-tokens = "500"
//   output-tokens = "exponential:200"
//
//   [server]                               # left out: it runs already
//   command = "vllm serve M --max-num-seqs {max-num-seqs} --port 8000"
//   ready = "http://localhost:8000/health"
//   ready-within = "30min"
//
//   [[sweep]]                              # all combinations; of several tables, one after another
//   max-num-seqs = [32, 64, 128]
//   concurrency = [16, 64]
//
// A value goes to the option of its name, and to {name} in the server's command; a name that is
// neither is an error, and so is a {name} without values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "cli/verb.h"
#include "serving/bench/server_process.h"

namespace perjoule::cli {

struct BenchSweepPoint {
  Config settings;
  std::string command;             ///< of the server; empty: none is started
  std::vector<std::string> words;  ///< of perjoule bench run, without outputs
};

struct BenchSweepFile {
  std::vector<BenchSweepPoint> points;  ///< those of one server's command behind one another
  std::optional<ServerPlan> server;     ///< all but its command and files
  std::string shared;  ///< what all points share, as a text that tells sweeps apart
};

/// invalid_argument naming file, line and word. `run` is the verb whose options there are.
Result<BenchSweepFile> read_bench_sweep(const std::string& text, const std::string& name,
                                        const Verb& run);

}  // namespace perjoule::cli

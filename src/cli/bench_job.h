// What benchmarks of servers and of batch jobs have in common: the machine's sources, the context
// of a result, and how it is handed out.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/verb.h"
#include "device/discovery.h"
#include "device/selection.h"
#include "meter/calibration.h"
#include "serving/bench/bench_document.h"

namespace perjoule::cli {

/// Options of measuring and of what is said beside the figures.
std::vector<Option> bench_measuring_options();

/// The machine and the sources of --sources; "none": none, for a server elsewhere.
class BenchMachine {
 public:
  /// The GPUs where there are any and nothing is named, else what can be measured. Errors as
  /// choose_sources.
  static Result<BenchMachine> find(const Arguments& arguments, const Clock& clock);
  const std::vector<Source*>& sources() const { return chosen_.sources; }
  const std::vector<Calibration>& calibrations() const { return calibrations_; }
  /// The devices of --prefill-gpus, which must be among those measured.
  Result<std::vector<std::string>> prefill_devices(const Arguments& arguments) const;
  /// The GPUs' name and number where the user has not said them.
  void describe(BenchContext& context) const;

 private:
  Inventory inventory_;
  ChosenSources chosen_;
  std::vector<Calibration> calibrations_;
};

/// What the options say of model, engine and parallelism.
Result<BenchContext> read_bench_context(const Arguments& arguments);

/// That the files of --output and --records can be written, before the work.
Outcome check_bench_outputs(const Arguments& arguments);
/// Prints the document or the text, and writes --output.
Outcome deliver_bench(const Arguments& arguments, const Json& document, const std::string& text);

/// perjoule bench run --items N -- COMMAND.
Result<int> measure_items(const Arguments& arguments);

}  // namespace perjoule::cli

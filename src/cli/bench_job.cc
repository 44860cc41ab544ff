#include "cli/bench_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "cli/bench_load.h"
#include "cli/machine.h"
#include "cli/table.h"

namespace perjoule::cli {

std::vector<Option> bench_measuring_options() {
  return {
      {"sources", "WORD,...",
       "what is measured: gpu, cpu, all, ids, GPU numbers; none for a server elsewhere", "", true},
      {"every", "TIME", "sampling period; a source is never read faster than it ticks", "100ms"},
      {"metrics", "URL", "the page of the server's own counters; /metrics where it is left out"},
      {"no-metrics", "", "do not read them"},
      {"max-num-seqs", "B", "how many requests the server runs at a time, for ML.ENERGY's window"},
      {"window", "RULE", "best, stationary, full-batch or whole", "best"},
      {"limit", "NAME=TIME,...", "for goodput: ttft, tpot, itl (P99 of a request), e2el", "", true},
      {"prefill-gpus", "WORD,...",
       "where prefill and decode have GPUs of their own: those that prefill", "", true},
      {"most-failed", "SHARE", "of the requests, above which the run is void", "0.01"},
      {"items", "N", "with a command: how many images, videos or answers it makes"},
      {"batch", "N", "with a command: how many of them at a time"},
      {"kind", "KIND", "with a command: text, image or video", "image"},
      {"nickname", "NAME", "how the model is shown"},
      {"architecture", "NAME", "kept with the result: Dense Transformer, MoE, ..."},
      {"parameters", "BILLIONS", "kept with the result"},
      {"precision", "NAME", "kept with the result: bfloat16, fp8, ..."},
      {"engine", "NAME VERSION", "kept with the result: 'vLLM 0.11.1'"},
      {"parallel", "NAME=N,...", "kept with the result: tp=2, ep=2, dp=2, pp=2", "", true},
      {"setting", "NAME=VALUE", "kept with the result: what the server was started with", "", true},
      {"task-name", "NAME", "kept with the result in place of the task's"},
      {"output", "FILE", "write the document there; it is kept only once it is whole"},
      {"records", "FILE", "write a line of JSON for each request"},
  };
}

Result<BenchMachine> BenchMachine::find(const Arguments& arguments, const Clock& clock) {
  BenchMachine machine;
  PJ_TRY(std::vector<std::string> words, arguments.list("sources"));
  // What Prometheus tells of is another machine's; this one's is wanted only where it is named.
  const bool is_elsewhere = words.empty() && arguments.has("prometheus");
  if (is_elsewhere || (words.size() == 1 && words.front() == "none")) return machine;
  PJ_TRY(machine.inventory_, find_machine(clock));
  if (words.empty()) {
    for (const auto& device : machine.inventory_.devices) {
      if (device->info().kind == DeviceKind::kGpu) words = {"gpu"};
    }
  }
  auto chosen = choose_sources(machine.inventory_, words, VisibleVariables::from_environment());
  if (!chosen && chosen.error().code == ErrorCode::kNotFound)
    chosen.error().code = ErrorCode::kInvalidArgument;
  if (!chosen) return fail(chosen);
  machine.chosen_ = std::move(*chosen);
  for (const std::string& note : machine.chosen_.notes) complain(note);
  PJ_TRY(machine.calibrations_, load_calibrations(calibration_path()));
  return machine;
}

Result<std::vector<std::string>> BenchMachine::prefill_devices(const Arguments& arguments) const {
  PJ_TRY(const std::vector<std::string> words, arguments.list("prefill-gpus"));
  if (words.empty()) return std::vector<std::string>();
  auto chosen = choose_sources(inventory_, words, VisibleVariables::from_environment());
  if (!chosen && chosen.error().code == ErrorCode::kNotFound)
    chosen.error().code = ErrorCode::kInvalidArgument;
  if (!chosen) return fail(chosen, "--prefill-gpus");
  for (const std::string& device : chosen->devices) {
    if (std::find(chosen_.devices.begin(), chosen_.devices.end(), device) == chosen_.devices.end())
      return Error::invalid_argument("--prefill-gpus: " + device + " is not measured",
                                     "--sources names what is");
  }
  return chosen->devices;
}

void BenchMachine::describe(BenchContext& context) const {
  std::int64_t count = 0;
  for (const std::string& id : chosen_.devices) {
    const Device* device = inventory_.find_device(id);
    if (device == nullptr || device->info().kind != DeviceKind::kGpu) continue;
    ++count;
    context.gpus.name = device->info().name;
  }
  context.gpus.count = std::max<std::int64_t>(1, count);
  context.gpus.model = short_gpu_name(context.gpus.name);
}

Result<BenchContext> read_bench_context(const Arguments& arguments) {
  BenchContext context;
  context.model.nickname = arguments.value("nickname");
  context.model.architecture = arguments.value("architecture");
  context.model.precision = arguments.value("precision");
  PJ_TRY(context.model.total_billions, read_positive(arguments, "parameters"));
  const std::string engine = arguments.value("engine");
  const std::size_t space = engine.find(' ');
  context.engine.name = engine.substr(0, space);
  if (space != std::string::npos) context.engine.version = engine.substr(space + 1);
  PJ_TRY(const auto words, arguments.list("parallel"));
  const std::map<std::string, std::optional<std::int64_t>*> degrees{
      {"tp", &context.parallel.tensor},       {"ep", &context.parallel.expert},
      {"dp", &context.parallel.data},         {"pp", &context.parallel.pipeline},
      {"ulysses", &context.parallel.ulysses}, {"ring", &context.parallel.ring}};
  for (const std::string& word : words) {
    const std::size_t sign = word.find('=');
    const auto found = degrees.find(word.substr(0, sign));
    const auto number = sign == std::string::npos
                            ? std::nullopt
                            : parse_integer(std::string_view(word).substr(sign + 1));
    if (found == degrees.end() || !number || *number < 1) {
      return Error::invalid_argument("--parallel " + word + ": no degree of parallelism",
                                     "tp=2, ep=2, dp=2, pp=2, ulysses=2 or ring=2");
    }
    *found->second = *number;
  }
  for (const std::string& word : arguments.values("setting")) {
    const std::size_t sign = word.find('=');
    if (sign == 0 || sign == std::string::npos)
      return Error::invalid_argument("--setting " + word + ": no NAME=VALUE");
    context.settings.set(word.substr(0, sign), word.substr(sign + 1));
  }
  return context;
}

Outcome check_bench_outputs(const Arguments& arguments) {
  for (const char* option : {"output", "records"}) {
    if (!arguments.has(option)) continue;
    const auto can = check_writable(arguments.value(option));
    if (!can) return fail(can, "--" + std::string(option));
  }
  if (arguments.has("output") && arguments.value("output") == arguments.value("records"))
    return Error::invalid_argument("--output and --records name one file");
  return {};
}

Outcome deliver_bench(const Arguments& arguments, const Json& document, const std::string& text) {
  // What was measured is shown whatever becomes of the file.
  print(arguments.json() ? document.dump(2) + "\n" : text);
  if (!arguments.has("output")) return {};
  return write_file_atomically(arguments.value("output"), document.dump(2) + "\n");
}

}  // namespace perjoule::cli

// perjoule twin: the simulated machine from the command line.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "twin/gpu_model.h"
#include "twin/launcher.h"
#include "twin/recording.h"
#include "twin/workload.h"

namespace perjoule::cli {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";

Json model_json(const twin::GpuModel& model) {
  const twin::Silicon& chip = model.silicon;
  Json json = Json::object();
  json["model"] = model.key;
  json["name"] = model.name;
  json["limit_min_w"] = model.limit_min_w;
  json["limit_default_w"] = model.limit_default_w;
  json["limit_max_w"] = model.limit_max_w;
  json["clock_min_mhz"] = chip.clock_min_mhz;
  json["clock_max_mhz"] = chip.clock_max_mhz;
  json["clock_step_mhz"] = chip.clock_step_mhz;
  json["clock_floor_mhz"] = chip.clock_floor_mhz;
  json["memory_clock_mhz"] = model.memory_clock_mhz;
  json["bytes_per_s"] = chip.bytes_per_s;
  json["flop_per_s"] = chip.flop_per_s;
  json["multiprocessors"] = static_cast<std::int64_t>(model.multiprocessors);
  json["memory_bytes"] = static_cast<std::int64_t>(model.memory_bytes);
  json["tick_ms"] = model.sensor.tick_ms;
  json["instant_window_ms"] = model.sensor.instant_window_ms;
  json["average_window_ms"] = model.sensor.average_window_ms;
  json["static_w"] = chip.static_w;
  json["knee_mhz"] = chip.knee_mhz;
  json["volt_low"] = chip.volt_low;
  json["volt_high"] = chip.volt_high;
  json["activity_c"] = chip.activity_c;
  json["clock_c"] = chip.clock_c;
  json["dram_w"] = chip.dram_w;
  json["link_w"] = chip.link_w;
  return json;
}

Result<int> list_models(const Arguments& arguments) {
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.twin_devices.v1";
    json["devices"] = Json::array();
    for (const twin::GpuModel& model : twin::gpu_models()) {
      json["devices"].push_back(model_json(model));
    }
    print(json.dump(2) + "\n");
    return kDone;
  }
  using Align = Table::Align;
  Table table({{"model"},
               {"name"},
               {"limit W", Align::kRight},
               {"clock MHz", Align::kRight},
               {"TB/s", Align::kRight},
               {"TFLOP/s", Align::kRight},
               {"tick/window ms", Align::kRight},
               {"P_stat", Align::kRight},
               {"knee", Align::kRight},
               {"V0-Vmax", Align::kRight},
               {"C_act", Align::kRight},
               {"C_clk", Align::kRight},
               {"P_dram", Align::kRight}});
  for (const twin::GpuModel& m : twin::gpu_models()) {
    const twin::Silicon& s = m.silicon;
    table.add(
        {std::string(m.key), std::string(m.name),
         fmt::format("{} ({}-{})", m.limit_default_w, m.limit_min_w, m.limit_max_w),
         fmt::format("{}-{} by {}", s.clock_min_mhz, s.clock_max_mhz, s.clock_step_mhz),
         fmt::format("{:.2f}", s.bytes_per_s * 1e-12), fmt::format("{:.0f}", s.flop_per_s * 1e-12),
         fmt::format("{}/{}", m.sensor.tick_ms, m.sensor.instant_window_ms),
         fmt::format("{:g}", s.static_w), fmt::format("{:g}", s.knee_mhz),
         fmt::format("{:.2f}-{:.2f}", s.volt_low, s.volt_high), fmt::format("{:g}", s.activity_c),
         fmt::format("{:g}", s.clock_c), fmt::format("{:g}", s.dram_w)});
  }
  print(table.text());
  return kDone;
}

Result<int> run_on_twin(const Arguments& arguments) {
  if (arguments.json()) {
    // Its output is the command's, and the truth is the sensors' to tell: there is nothing of its
    // own.
    return Error::invalid_argument(
        "--json: twin run prints nothing of its own",
        "ask the command for JSON: perjoule twin run -- perjoule run --json -- ...");
  }
  twin::LaunchOptions options;
  options.gpus = arguments.values("gpu");
  options.replay = arguments.value("replay");
  options.powercap = arguments.has("powercap");
  options.keep = arguments.has("keep");
  options.command = arguments.command();
  if (!options.replay.empty() && !options.gpus.empty()) {
    return Error::invalid_argument("--replay brings its own devices: leave out --gpu");
  }
  if (options.replay.empty() && options.gpus.empty()) options.gpus = {"h100"};
  const auto speed = parse_number(arguments.value("speed"));
  if (!speed || *speed <= 0) {
    return Error::invalid_argument("--speed is not a number above 0: " + arguments.value("speed"));
  }
  options.speed = *speed;
  for (const std::string& text : arguments.values("fault")) {
    PJ_TRY(twin::Fault fault, twin::parse_fault(text));
    options.faults.push_back(std::move(fault));
  }
  PJ_TRY(options.standin_folder, twin::find_standin_folder());
  const auto outcome = twin::launch(options);
  if (!outcome && outcome.error().message.rfind("cannot run", 0) == 0) {
    complain("twin run: " + outcome.error().text());
    return outcome.error().code == ErrorCode::kNotFound ? kCommandNotFound : kCommandNotRun;
  }
  if (!outcome) return fail(outcome);
  if (!outcome->folder.empty()) complain("twin run: kept " + outcome->folder);
  return outcome->status;
}

/// Where a measuring parent counts units of work: the pipe that it left open for us. A number that
/// names no pipe is a variable that outlived its parent's descriptor.
std::optional<int> unit_pipe() {
  const auto fd = parse_integer(environment("PERJOULE_UNIT_FD"));
  struct stat about {};
  if (!fd || *fd < 0 || *fd > std::numeric_limits<int>::max()) return std::nullopt;
  if (::fstat(static_cast<int>(*fd), &about) != 0 || !S_ISFIFO(about.st_mode)) return std::nullopt;
  return static_cast<int>(*fd);
}

/// One unit done. A full pipe is waited for: its reader is only behind. One that is gone is not.
void report_unit(int fd) {
  while (::write(fd, "\n", 1) < 0 && (errno == EAGAIN || errno == EINTR)) ::usleep(1000);
}

Result<int> work_on_twin(const Arguments& arguments) {
  twin::WorkOptions options;
  PJ_CHECK(twin::set_work(arguments.values("WORK").front(), options));
  const auto steps = parse_integer(arguments.value("steps"));
  if (!steps || *steps < 1 || *steps > 1'000'000'000) {
    return Error::invalid_argument("--steps is not a number of steps: " + arguments.value("steps"));
  }
  options.steps = static_cast<int>(*steps);
  for (const char* name : {"duty", "activity"}) {
    const auto number = parse_number(arguments.value(name));
    if (!number) return Error::invalid_argument(fmt::format("--{} is not a number", name));
    (std::string_view(name) == "duty" ? options.duty : options.activity) = *number;
  }
  for (const std::string& word : arguments.values("device")) {
    const auto index = parse_integer(word);
    if (!index || *index < 0 || *index > 1000) {
      return Error::invalid_argument("--device is not an index: " + word);
    }
    options.devices.push_back(static_cast<int>(*index));
  }
  const std::optional<int> units = unit_pipe();
  PJ_CHECK(twin::run_work(kLibrary, options, [&](int step) {
    if (units) report_unit(*units);
    if (!arguments.json()) print(fmt::format("step {}\n", step));
  }));
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.twin_work.v1";
    json["work"] = arguments.values("WORK").front();
    json["steps"] = options.steps;
    print(json.dump() + "\n");
  }
  return kDone;
}

Result<int> record_machine(const Arguments& arguments) {
  const std::string path = arguments.values("FILE").front();
  PJ_CHECK(check_writable(path));
  PJ_TRY(const auto length, arguments.read<Seconds>("for", parse_seconds));
  PJ_TRY(const auto period, arguments.read<Seconds>("every", parse_seconds));
  RealClock clock;
  const std::string library = environment("PERJOULE_NVML", kLibrary);
  PJ_TRY(const twin::Recording recording, twin::record(library, *length, *period, clock));
  PJ_CHECK(write_file_atomically(path, twin::to_json(recording).dump() + "\n"));
  const std::size_t samples = recording.devices.front().samples.size();
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.twin_record.v1";
    json["file"] = path;
    json["devices"] = static_cast<std::int64_t>(recording.devices.size());
    json["samples"] = static_cast<std::int64_t>(samples);
    print(json.dump() + "\n");
  } else {
    print(fmt::format("{}: {}, {} each\n", path,
                      counted(static_cast<double>(recording.devices.size()), "device"),
                      counted(static_cast<double>(samples), "sample")));
  }
  return kDone;
}

Verb devices_of_twin_verb() {
  return {.name = "twin devices",
          .summary = "the devices that can be simulated, with the parameters of their physics",
          .description =
              "Watts, megahertz and volts; C_act and C_clk in W per (MHz V^2). The origin "
              "of each value is told in docs/twin.md.",
          .examples = {"perjoule twin devices"},
          .run = list_models};
}

Verb run_on_twin_verb() {
  return {
      .name = "twin run",
      .summary = "run a command on a simulated machine",
      .description =
          "The command finds a libnvidia-ml.so.1 that answers for the simulated devices; its "
          "exit status is passed on. Nothing it measures there is real. Its output is the "
          "command's: "
          "--json belongs to the command and is refused here.",
      .options = {{.name = "gpu",
                   .value = "MODEL[:N]",
                   .help = "devices; h100 when none is given",
                   .repeatable = true},
                  {.name = "fault",
                   .value = "FAULT",
                   .help = "a fault, such as lost:gpu=0,at=2s (docs/twin.md lists them)",
                   .repeatable = true},
                  {.name = "speed",
                   .value = "N",
                   .help =
                       "simulated seconds in a real one; meters that know the part take what is "
                       "drawn at another speed than 1 for impossible",
                   .otherwise = "1"},
                  {.name = "replay", .value = "FILE", .help = "play a recording back instead"},
                  {.name = "powercap", .value = "", .help = "with processors' energy counters too"},
                  {.name = "keep", .value = "", .help = "leave the machine's folder behind"}},
      .takes_command = true,
      .examples = {"perjoule twin run --gpu h100:8 -- perjoule twin work training --steps 50",
                   "perjoule twin run --gpu a100 --fault lost:gpu=0,at=5s -- python3 train.py"},
      .run = run_on_twin};
}

Verb work_on_twin_verb() {
  return {
      .name = "twin work",
      .summary = "work for a simulated machine, in steps",
      .description =
          "Kinds: training, matmul (alternating with memory reads), decode, "
          "allreduce (lockstep with the link), straggler (one slower device); and on V100 and A40 "
          "the trainings resnet50, resnet18, bert-base-uncased and shufflenetv2, as their measured "
          "power-limit sweeps have them. Each step is a unit of work for perjoule run --unit step.",
      .options =
          {{.name = "steps", .value = "N", .help = "how many", .otherwise = "10"},
           {.name = "duty", .value = "SHARE", .help = "of MatMul, from 0 to 1", .otherwise = "0.5"},
           {.name = "activity",
            .value = "FACTOR",
            .help = "switching of the operands: 1 random, 0.35 zeros",
            .otherwise = "1"},
           {.name = "device",
            .value = "INDEX",
            .help = "all when none is given",
            .repeatable = true}},
      .positionals = {{.name = "WORK",
                       .help = "training, matmul, decode, allreduce, straggler, or a job"}},
      .examples = {"perjoule twin run -- perjoule twin work matmul --duty 0.8 --steps 100"},
      .run = work_on_twin};
}

Verb record_verb() {
  return {.name = "twin record",
          .summary = "write down what this machine's devices answer, to be played back",
          .options = {{.name = "for", .value = "TIME", .help = "how long", .otherwise = "10s"},
                      {.name = "every",
                       .value = "TIME",
                       .help = "between two readings",
                       .otherwise = "20ms"}},
          .positionals = {{.name = "FILE", .help = "JSON, schema perjoule.recording.v1"}},
          .examples = {"perjoule twin record h200.json --for 1min",
                       "perjoule twin run --replay h200.json -- nvtop"},
          .run = record_machine};
}

}  // namespace

std::vector<Verb> twin_verbs() {
  return {devices_of_twin_verb(), run_on_twin_verb(), work_on_twin_verb(), twin_serve_verb(),
          record_verb()};
}

}  // namespace perjoule::cli

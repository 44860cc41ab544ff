// perjoule twin serve: an inference server whose GPU is simulated.
#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/private_folder.h"
#include "base/text.h"
#include "cli/descriptors.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "meter/signals.h"
#include "twin/launcher.h"
#include "twin/process_watch.h"
#include "twin/serve_http.h"
#include "twin/serve_loop.h"

namespace perjoule::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The machine whose GPU serves: the one we run on, or one of our own.
struct Machine {
  twin::World world;
  std::optional<PrivateFolder> folder;  ///< of our own
  Variables variables;                  ///< for others to find it; none where they have them
};

Result<Machine> own_machine(const Arguments& arguments) {
  std::vector<std::string> gpus = arguments.values("gpu");
  if (gpus.empty()) gpus = {"h100"};
  PJ_TRY(const std::vector<std::string> models, twin::parse_gpus(gpus));
  PJ_TRY(const double speed, [&]() -> Result<double> {
    const auto number = parse_number(arguments.value("speed"));
    if (number && *number > 0) return *number;
    return Error::invalid_argument("--speed is not a number above 0: " + arguments.value("speed"));
  }());
  PJ_TRY(const std::string libraries, twin::find_standin_folder());
  PJ_TRY(PrivateFolder folder, PrivateFolder::create("perjoule-twin"));
  PJ_TRY(twin::World world,
         twin::World::create(folder.path() + "/machine", models, twin::ClockMode::kReal, speed));
  Variables variables = twin::machine_variables(folder.path(), libraries);
  return Machine{std::move(world), std::move(folder), std::move(variables)};
}

Result<Machine> machine_of(const Arguments& arguments) {
  if (environment(twin::kEnvironmentVariable).empty()) return own_machine(arguments);
  for (const char* name : {"gpu", "speed"}) {
    if (arguments.typed(name)) {
      return Error::invalid_argument(
          fmt::format("--{}: this already runs on a simulated machine", name),
          "leave it out, or give it to perjoule twin run");
    }
  }
  PJ_TRY(twin::World world, twin::World::open_from_environment());
  return Machine{std::move(world), std::nullopt, {}};
}

Result<int> count_of(const Arguments& arguments, std::string_view name, int least, int most) {
  const std::string text = arguments.value(name);
  const auto number = parse_integer(text);
  if (number && *number >= least && *number <= most) return static_cast<int>(*number);
  return Error::invalid_argument(
      fmt::format("--{} is not a whole number from {} to {}: {}", name, least, most, text));
}

Result<twin::LoopSettings> settings_of(const Arguments& arguments) {
  constexpr int kMany = 1'000'000'000;
  twin::LoopSettings settings;
  settings.model = arguments.value("model");
  settings.api_key = arguments.value("api-key");
  PJ_TRY(settings.device, count_of(arguments, "device", 0, 1000));
  PJ_TRY(settings.max_num_seqs, count_of(arguments, "max-num-seqs", 1, 1'000'000));
  PJ_TRY(settings.max_batched_tokens, count_of(arguments, "max-batched-tokens", 1, kMany));
  PJ_TRY(settings.tokens_per_chunk, count_of(arguments, "tokens-per-chunk", 1, 1'000'000));
  if (arguments.has("context")) {
    PJ_TRY(settings.context_tokens, count_of(arguments, "context", 2, kMany));
  }
  if (arguments.has("kv-blocks")) {
    PJ_TRY(settings.kv_blocks, count_of(arguments, "kv-blocks", 1, kMany));
  }
  for (const std::string& text : arguments.values("fault")) {
    PJ_TRY(settings.faults.emplace_back(), twin::parse_serve_fault(text));
  }
  return settings;
}

void print_start(const Arguments& arguments, const twin::ServeLoop& loop,
                 const twin::HttpServer& server, const Variables& variables) {
  const twin::ServeModel& model = loop.model();
  const std::string url = fmt::format("http://127.0.0.1:{}/v1", server.port());
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.twin_serve.v1";
    json["url"] = url;
    json["port"] = server.port();
    json["ipv6"] = server.has_ipv6();
    json["simulated"] = true;
    json["gpu"] = model.gpu;
    json["model"] = model.key;
    json["name"] = model.name;
    json["decode"] = "measured";
    json["prefill"] = model.prefill_origin;
    json["context_tokens"] = loop.context_tokens();
    json["kv_blocks"] = loop.kv_blocks();
    json["environment"] = Json::object();
    for (const auto& [name, value] : variables) json["environment"][name] = value;
    print(json.dump() + "\n");
    return;
  }
  print(fmt::format("{} on a simulated {}: decode steps as measured (ML.ENERGY v3), prefill {}\n",
                    model.name, model.gpu, model.prefill_origin));
  print(
      fmt::format("serving at {}{}\n", url,
                  server.has_ipv6() ? fmt::format(" and http://[::1]:{}/v1", server.port()) : ""));
  if (variables.empty()) return;
  print("other programs see its GPU with\n");
  for (const auto& [name, value] : variables) print(fmt::format("  export {}={}\n", name, value));
}

/// The signal that ends us.
int wait_for_end(const SignalWatch& signals) {
  for (;;) {
    pollfd watched{signals.fd(), POLLIN, 0};
    if (::poll(&watched, 1, -1) < 0 && errno != EINTR) return SIGTERM;
    while (const auto arrived = signals.next()) {
      if (arrived->signal != SIGUSR1 && arrived->signal != SIGUSR2) return arrived->signal;
    }
  }
}

Result<int> serve(const Arguments& arguments) {
  PJ_TRY(const twin::LoopSettings settings, settings_of(arguments));
  PJ_TRY(const int port, count_of(arguments, "port", 0, 65'535));
  PJ_TRY(const SignalWatch signals, SignalWatch::start());
  PJ_TRY(Machine machine, machine_of(arguments));
  allow_many_descriptors();
  // A client of our own machine that is killed holds its device no more.
  std::jthread watcher;
  if (machine.folder) {
    watcher = std::jthread(
        [&machine](const std::stop_token& stop) { watch_processes(stop, machine.world); });
  }
  RealClock clock;
  PJ_TRY(const auto loop, twin::ServeLoop::start(machine.world, settings, clock));
  PJ_TRY(const auto server, twin::HttpServer::start(port, *loop));
  print_start(arguments, *loop, *server, machine.variables);
  if (output_failed() != 0) return Error::from_errno(output_failed(), "writing standard output");
  return kSignalled + wait_for_end(signals);
}

std::vector<Option> serve_options() {
  return {{.name = "gpu",
           .value = "MODEL[:N]",
           .help = "GPUs of a machine of its own, of which one serves; h100 when none is given",
           .repeatable = true},
          {.name = "device", .value = "INDEX", .help = "the GPU that serves", .otherwise = "0"},
          {.name = "model",
           .value = "NAME",
           .help = "llama-3.1-8b, qwen3-8b, qwen3-14b, qwen3-32b",
           .otherwise = "llama-3.1-8b"},
          {.name = "port",
           .value = "PORT",
           .help = "on 127.0.0.1 and ::1; 0 takes any that is free",
           .otherwise = "8000"},
          {.name = "max-num-seqs",
           .value = "N",
           .help = "requests that run at once",
           .otherwise = "256"},
          {.name = "max-batched-tokens",
           .value = "N",
           .help = "tokens of a prefill step",
           .otherwise = "8192"},
          {.name = "context", .value = "TOKENS", .help = "prompt and answer; at most the model's"},
          {.name = "kv-blocks",
           .value = "N",
           .help = "blocks of 16 tokens in the KV cache; as many as fit when not given"},
          {.name = "tokens-per-chunk",
           .value = "N",
           .help = "of a stream, but for the first chunk",
           .otherwise = "1"},
          {.name = "api-key", .value = "KEY", .help = "what clients must send"},
          {.name = "fault",
           .value = "FAULT",
           .help = "a fault, such as truncate:after=5,every=10 (docs/twin.md lists them)",
           .repeatable = true},
          {.name = "speed",
           .value = "N",
           .help = "simulated seconds in a real one, of a machine of its own",
           .otherwise = "1"}};
}

}  // namespace

Verb twin_serve_verb() {
  return {
      .name = "twin serve",
      .summary = "an OpenAI-compatible inference server on a simulated GPU",
      .description =
          "Serves /v1/chat/completions, /v1/completions, /v1/models, /health and /metrics (vLLM's "
          "names) on this machine alone, until a signal ends it. It batches continuously; each "
          "step "
          "takes and draws on the simulated GPU what was measured for its batch size on an H100, "
          "and "
          "a power limit slows it. Prefill was not measured: its time is scaled and synthetic. "
          "What "
          "it says is no language.\n"
          "Under perjoule twin run it serves on that machine's GPU. Else it makes a machine of its "
          "own and prints the variables with which others see it. The exit status is 128 and the "
          "signal's number.",
      .options = serve_options(),
      .examples = {"perjoule twin serve --gpu h100:1 --model llama-3.1-8b",
                   "perjoule twin serve --port 0 --max-num-seqs 64 --fault stall:after=5,length=2s",
                   "perjoule twin run --gpu h100 -- perjoule twin serve --model qwen3-14b"},
      .run = serve};
}

}  // namespace perjoule::cli

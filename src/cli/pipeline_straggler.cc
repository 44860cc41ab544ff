// perjoule pipeline straggler: tells a running plan server that a pipeline keeps the others
// waiting.
#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "net/line_socket.h"
#include "pipeline/profile/profile.h"
#include "pipeline/runtime/plan_server.h"

namespace perjoule::cli {
namespace {

constexpr Seconds kPatience{10};
constexpr std::int64_t kMostPipelines = 1'000'000;
constexpr double kMostSlowdown = 1e6;

Result<Json> straggler_call(const Arguments& arguments) {
  Json call = Json::object();
  call["call"] = "straggle";
  const std::string pipeline = arguments.values("PIPELINE").front();
  const auto number = parse_integer(pipeline);
  if (!number || *number < 0 || *number >= kMostPipelines) {
    return Error::invalid_argument(
        fmt::format("{}: not the number of a pipeline, from 0 to {}", pipeline, kMostPipelines - 1),
        "replicas are numbered as the training started them");
  }
  call["pipeline"] = *number;
  const int said = (arguments.has("slowdown") ? 1 : 0) + (arguments.has("until") ? 1 : 0) +
                   (arguments.has("over") ? 1 : 0);
  if (said != 1) {
    return Error::invalid_argument(
        "one of --slowdown, --until and --over is wanted",
        "--slowdown 1.2, --until 3.4s, or --over when it is one no more");
  }
  if (arguments.has("over")) {
    call["over"] = true;
  } else if (arguments.has("until")) {
    PJ_TRY(const auto until, arguments.read("until", parse_seconds));
    if (!until || until->value() <= 0 || *until > kMostTime) {
      return Error::invalid_argument(
          fmt::format("--until {}: not a time above 0", arguments.value("until")),
          fmt::format("it is how long the straggler's iteration takes, at most {:g} s",
                      kMostTime.value()));
    }
    call["until_s"] = until->value();
  } else {
    const auto factor = parse_number(arguments.value("slowdown"));
    if (!factor || *factor < 1 || *factor > kMostSlowdown) {
      return Error::invalid_argument(fmt::format("--slowdown {}: not a factor from 1 to {:g}",
                                                 arguments.value("slowdown"), kMostSlowdown));
    }
    call["slowdown"] = *factor;
  }
  return call;
}

/// What was said, and to whom.
Json document(const Json& call, const std::string& server) {
  Json json = Json::object();
  json["schema"] = "perjoule.pipeline-straggler.v1";
  json["server"] = server;
  for (const std::string_view member : {"pipeline", "slowdown", "until_s", "over"}) {
    if (const Json* said = call.find(member)) json[member] = *said;
  }
  return json;
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(const Json call, straggler_call(arguments));
  std::string server = arguments.value("server");
  if (server.empty()) server = environment("PERJOULE_PIPELINE");
  if (server.empty()) {
    return Error::invalid_argument("no plan server is named",
                                   "--server PATH, or PERJOULE_PIPELINE as pipeline run sets it");
  }
  PJ_TRY(LineClient client, LineClient::connect(server, Seconds(1)));
  PJ_TRY(const Json answer, ask_plan_server(client, call, kPatience));
  if (arguments.json()) print(document(call, server).dump() + "\n");
  return kDone;
}

}  // namespace

Verb pipeline_straggler_verb() {
  Verb verb;
  verb.name = "pipeline straggler";
  verb.summary = "say that a pipeline keeps the others waiting, or no longer does";
  verb.description =
      "From the next iteration on the other pipelines of that training run the plan that takes "
      "least "
      "energy until the\nstraggler is through; after --over their usual one again.";
  verb.positionals = {{"PIPELINE", "number of the data-parallel replica, from 0"}};
  verb.options = {
      {"slowdown", "FACTOR", "it takes so many times what all take at the highest setting"},
      {"until", "TIME", "or so long an iteration"},
      {"over", "", "it straggles no more"},
      {"server", "PATH", "the plan server's socket; PERJOULE_PIPELINE otherwise"},
  };
  verb.examples = {"perjoule pipeline straggler 3 --slowdown 1.2",
                   "perjoule pipeline straggler 3 --over"};
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli

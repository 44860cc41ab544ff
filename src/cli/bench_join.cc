// perjoule bench join: joules for benchmark results of other tools, from a log of power.
#include <fmt/format.h>

#include <cmath>

#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "workload/bench_files.h"
#include "workload/bench_join.h"
#include "workload/bench_result_json.h"
#include "workload/civil_time.h"

namespace perjoule::cli {
namespace {

/// What the words ask for.
struct Request {
  BenchFilesOptions files;
  PowerLogOptions log;
  JoinOptions join;
  std::optional<BenchWindow> window;
};

Result<std::optional<Boundary>> boundary_from(const Arguments& arguments) {
  const std::string word = arguments.value("boundary");
  if (word.empty()) return std::optional<Boundary>();
  if (word == "gpu") return std::optional<Boundary>(Boundary::kDevice);
  if (word == "node") return std::optional<Boundary>(Boundary::kNode);
  return Error::invalid_argument(fmt::format("--boundary {}: what is measured?", word),
                                 "gpu or node is wanted");
}

/// "1%", "1 %" or "0.01".
Result<std::optional<double>> gain_from(const Arguments& arguments) {
  const std::string given = arguments.value("gain");
  if (given.empty()) return std::optional<double>();
  const auto value = parse_share(given);
  if (!value || !(*value >= 0 && *value < 1)) {
    return Error::invalid_argument(fmt::format("--gain {}: not a share from 0 to 1", given),
                                   "1% or 0.01");
  }
  return value;
}

Result<std::optional<Seconds>> offset_from(const Arguments& arguments, std::string_view option) {
  constexpr double kMostAhead = 86400;
  PJ_TRY(const auto offset, arguments.read<Seconds>(option, parse_seconds));
  if (offset && !(std::abs(offset->value()) <= kMostAhead)) {
    return Error::invalid_argument(
        fmt::format("--{} {}: more than a day", option, arguments.value(option)),
        "it is what local time was ahead of UTC: 2h, --offset=-5h");
  }
  return offset;
}

Result<std::optional<BenchWindow>> window_from(const Arguments& arguments) {
  const bool begins = arguments.has("begin");
  if (begins != arguments.has("end"))
    return Error::invalid_argument("--begin and --end go together", "give both, in unix seconds");
  if (!begins) return std::optional<BenchWindow>();
  BenchWindow window;
  window.source = "--begin and --end";
  window.known_within = Seconds(0);
  for (const auto& [option, ns] :
       {std::pair{"begin", &window.begin_unix_ns}, std::pair{"end", &window.end_unix_ns}}) {
    const auto seconds = parse_number(arguments.value(option));
    const auto read = seconds ? ns_of_unix_seconds(*seconds) : std::nullopt;
    if (!read) {
      return Error::invalid_argument(
          fmt::format("--{} {}: not unix time in seconds", option, arguments.value(option)));
    }
    *ns = *read;
  }
  if (window.end_unix_ns <= window.begin_unix_ns)
    return Error::invalid_argument("--end is not after --begin");
  return std::optional<BenchWindow>(std::move(window));
}

Result<Request> request_from(const Arguments& arguments) {
  Request request;
  PJ_TRY(request.join.boundary, boundary_from(arguments));
  PJ_TRY(request.join.gain, gain_from(arguments));
  PJ_TRY(request.join.known_within, arguments.read<Seconds>("within", parse_seconds));
  if (request.join.known_within && request.join.known_within->value() < 0)
    return Error::invalid_argument("--within is below 0");
  PJ_TRY(request.window, window_from(arguments));
  PJ_TRY(request.log.utc_offset, offset_from(arguments, "offset"));
  PJ_TRY(request.files.utc_offset, offset_from(arguments, "result-offset"));
  if (!request.files.utc_offset) request.files.utc_offset = request.log.utc_offset;
  request.log.boundary = request.join.boundary;
  if (arguments.value("power").empty())
    return Error::invalid_argument("no log of power is named", "--power FILE");
  return request;
}

Json budget_json(const JoinBudget& budget) {
  Json json = Json::object();
  json["place_j"] = budget.place.value();
  json["stamps_j"] = budget.stamps.value();
  json["sampling_j"] = budget.sampling.value();
  json["gap_j"] = budget.gap.value();
  json["gain_j"] = budget.gain.value();
  return json;
}

/// The result as our own, and beside it what only the join knows; readers of results pass that
/// over.
Json join_json(const BenchJoin& join, const std::string& power) {
  Json json = to_json(join.result);
  Json& beside = json["join"];
  beside["power_log"] = power;
  beside["devices"] = static_cast<std::int64_t>(join.devices);
  beside["energy"] = to_json(join.energy);
  beside["one_sigma"] = budget_json(join.budget);
  beside["notes"] = Json::array();
  for (const std::string& note : join.notes) beside["notes"].push_back(note);
  return json;
}

/// One result is a document of its own, several are a list of such.
Json document_of(const std::vector<BenchJoin>& joins, const std::string& power) {
  if (joins.size() == 1) return join_json(joins.front(), power);
  Json json = Json::object();
  json["schema"] = kBenchResultsSchema;
  json["results"] = Json::array();
  for (const BenchJoin& join : joins) json["results"].push_back(join_json(join, power));
  return json;
}

std::string cell(const std::optional<Energy>& energy) {
  return energy ? with_uncertainty(*energy) : std::string("-");
}

void print_joins(const std::vector<BenchJoin>& joins) {
  Table table({{"RESULT"},
               {"WINDOW", Table::Align::kRight},
               {"POWER", Table::Align::kRight},
               {"ENERGY", Table::Align::kRight},
               {"A TOKEN", Table::Align::kRight},
               {"A RESPONSE", Table::Align::kRight},
               {"STATUS"},
               {"BOUNDARY"}});
  for (const BenchJoin& join : joins) {
    const BenchResult& r = join.result;
    table.add({text_of(r.origin), to_text(r.window->duration(), 4), to_text(*r.power, 4),
               with_uncertainty(join.energy), cell(r.energy.output_token), cell(r.energy.response),
               join.energy.status_text(), std::string(name_of(join.energy.boundary))});
  }
  print(table.text());
  for (const BenchJoin& join : joins) {
    const BenchResult& r = join.result;
    const JoinBudget& b = join.budget;
    print(fmt::format("\n{}\n", text_of(r.origin)));
    print(fmt::format("  window: {:.3f} to {:.3f} unix s, by {}{}\n",
                      static_cast<double>(r.window->begin_unix_ns) * 1e-9,
                      static_cast<double>(r.window->end_unix_ns) * 1e-9, r.window->source,
                      r.window->known_within
                          ? ", known within " + to_text(*r.window->known_within, 3)
                          : std::string()));
    print(fmt::format("  one sigma: place {}, stamps {}, sampling {}, gaps {}, gain {}\n",
                      to_text(b.place, 3), to_text(b.stamps, 3), to_text(b.sampling, 3),
                      to_text(b.gap, 3), to_text(b.gain, 3)));
    for (const std::string& reason : r.validity) print("  against it: " + reason + "\n");
    for (const std::string& note : join.notes) print("  note: " + note + "\n");
  }
}

Result<int> run_join(const Arguments& arguments) {
  PJ_TRY(const Request request, request_from(arguments));
  const std::string output = arguments.value("output");
  if (!output.empty()) PJ_CHECK(check_writable(output));
  PJ_TRY(BenchFiles files, read_bench_files(arguments.values("RESULT"), request.files));
  if (request.window && files.results.size() > 1) {
    return Error::invalid_argument(
        fmt::format("--begin and --end are of one run, and there are {}",
                    counted(static_cast<double>(files.results.size()), "result")),
        "name one file of one result");
  }
  const std::string power = arguments.value("power");
  PJ_TRY(const PowerLog log, read_power_log(power, request.log));
  std::vector<BenchJoin> joins;
  for (BenchResult& result : files.results) {
    if (request.window) result.window = request.window;
    Result<BenchJoin> join = join_power(result, log, request.join);
    if (join) {
      joins.push_back(std::move(*join));
    } else if (files.results.size() == 1) {
      return fail(join);
    } else {
      complain(fmt::format("left out: {}: {}", text_of(result.origin), join.error().text()));
    }
  }
  if (joins.empty()) {
    return Error::not_found(
        fmt::format("no result of {} could be joined with {}", files.results.size(), power));
  }
  if (!output.empty())
    PJ_CHECK(write_file_atomically(output, document_of(joins, power).dump(2) + "\n"));
  if (arguments.json()) {
    print(document_of(joins, power).dump(2) + "\n");
  } else {
    for (const std::string& note : files.notes) print("note: " + note + "\n");
    print_joins(joins);
  }
  return joins.size() == files.results.size() ? kDone : kAnswerIsNo;
}

}  // namespace

Verb bench_join_verb() {
  Verb verb;
  verb.name = "bench join";
  verb.summary = "joules for results of other benchmarks, from a log of power";
  verb.description =
      "Reads results of vllm bench serve, AIPerf, genai-perf, guidellm, trtllm-bench, MLPerf\n"
      "loadgen (mlperf_log_summary.txt) and ML.ENERGY, and a log of power over the same time:\n"
      "perjoule run --csv, a power meter's spl.txt, nvidia-smi --query-gpu=timestamp,index,\n"
      "power.draw --format=csv, or a table of unix_s and watts. Both are joined by time.\n\n"
      "Stamps without a zone are taken as local time of this machine unless --offset says what\n"
      "theirs was ahead of UTC. Exit status 1 when some of several results could not be joined.\n"
      "docs/bench-join.md says what is known of each format's window, and has the formulas.";
  verb.positionals = {{"RESULT", "files of results, or folders of them", true, true}};
  verb.options = {
      {"power", "FILE", "the log of power"},
      {"offset", "TIME", "what local time was ahead of UTC where stamps have no zone: 2h"},
      {"result-offset", "TIME", "the same for the results alone"},
      {"begin", "UNIX", "when the run began, unix seconds, in place of what the result says"},
      {"end", "UNIX", "when it ended"},
      {"within", "TIME", "how well the window's place is known, in place of what is assumed"},
      {"boundary", "gpu|node", "what the log is of, or which of its sources to take"},
      {"gain", "SHARE", "most that the meter is off by: 1%; nvidia-smi's is 5 % as documented"},
      {"output", "FILE", "write the joined results there, to be read by leaderboard"},
  };
  verb.examples = {
      "perjoule bench join vllm-8qps.json --power nvidia-smi.csv",
      "perjoule bench join artifacts/ --power power.csv --boundary node --output joined.json",
      "perjoule bench join run_1/mlperf_log_summary.txt --power run_1/spl.txt --offset=-8h "
      "--gain 1%",
      "perjoule bench join trtllm.json --power power.csv --begin 1759842985 --end 1759842995",
  };
  verb.run = run_join;
  return verb;
}

}  // namespace perjoule::cli

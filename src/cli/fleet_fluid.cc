#include "cli/fleet_fluid.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/fleet_fluid_view.h"
#include "cli/fleet_options.h"
#include "cli/table.h"
#include "fleet/plan/clock_choice.h"
#include "workload/azure_trace.h"

namespace perjoule::cli {
namespace {

struct Request {
  LoadCurve load;
  ServingProfile profile;
  FluidOptions options;
  std::vector<FluidPolicy> policies;
  std::optional<PriceSeries> prices;
  std::optional<double> gpu_hour_price;
};

/// A number above 0 where it is given; none otherwise.
Result<std::optional<double>> positive(const Arguments& arguments, std::string_view option) {
  const std::string word = arguments.value(option);
  if (word.empty()) return std::optional<double>();
  const auto value = parse_number(word);
  if (value && *value > 0) return value;
  return Error::invalid_argument(fmt::format("--{} {}: not a number above 0", option, word));
}

Result<LoadCurve> read_trace(const std::string& text, const std::string& path, Seconds bin,
                             double scale) {
  PJ_TRY(const auto lengths, lengths_of_azure_trace(text, path));
  std::vector<PromptArrival> arrivals;
  arrivals.reserve(lengths.size());
  for (const TokenLengths& one : lengths)
    arrivals.push_back({one.arrival.value_or(Seconds(0)), static_cast<double>(one.prompt)});
  return load_of_arrivals(arrivals, bin, scale, path);
}

Result<LoadCurve> read_load(const Arguments& arguments) {
  const std::string path = arguments.value("LOAD");
  RequestRates rates;
  rates.column = arguments.value("column");
  PJ_TRY(const auto tokens, positive(arguments, "tokens-per-request"));
  PJ_TRY(const auto scale, positive(arguments, "scale"));
  PJ_TRY(const auto bin, arguments.read<Seconds>("bin", parse_seconds));
  rates.tokens_per_request = tokens.value_or(0);
  rates.scale = scale.value_or(1);
  PJ_TRY(std::string text, read_file(path));
  PJ_TRY(const CsvTable table, parse_csv(text, path));
  if (is_load_table(table)) return read_load_curve(table, rates);
  if (table.column("TIMESTAMP"))
    return read_trace(text, path, bin.value_or(Seconds(60)), rates.scale);
  return Error::invalid_argument(
      path + ": no load",
      "an Azure trace (TIMESTAMP, ContextTokens, GeneratedTokens), a table with minute_start and "
      "requests a minute, or one with start_s, duration_s and prompt_tps is wanted");
}

Outcome read_limits(const Arguments& arguments, FluidOptions& options) {
  PJ_TRY(options.target, latency_target(arguments));
  PJ_TRY(const auto epoch, arguments.read<Seconds>("epoch", parse_seconds));
  if (epoch && !(epoch->value() >= 0))
    return Error::invalid_argument("--epoch " + arguments.value("epoch") + ": below 0");
  options.epoch = epoch.value_or(Seconds(0));
  if (!arguments.has("servers")) return {};
  constexpr std::int64_t kMost = 100'000;
  const auto servers = parse_integer(arguments.value("servers"));
  if (!servers || *servers < 1 || *servers > kMost) {
    return Error::invalid_argument(
        fmt::format("--servers {}: not a number from 1 to {}", arguments.value("servers"), kMost));
  }
  options.most_servers = static_cast<int>(*servers);
  return {};
}

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  PJ_CHECK(read_limits(arguments, request.options));
  PJ_TRY(request.gpu_hour_price, positive(arguments, "gpu-hour-price"));
  PJ_TRY(const std::vector<std::string> names, arguments.list("policy"));
  for (const std::string& name : names) {
    PJ_TRY(FluidPolicy policy, find_policy(name));
    request.policies.push_back(std::move(policy));
  }
  if (request.policies.empty()) request.policies = fluid_policies();
  if (arguments.has("fixed-layout")) {
    for (FluidPolicy& policy : request.policies) policy.layout = LayoutScaling::kFixed;
  }
  PJ_TRY(request.profile, fleet_profile(arguments));
  PJ_TRY(request.load, read_load(arguments));
  if (request.load.classes.size() == 1 && request.load.classes.front().empty())
    PJ_CHECK(check_one_class(request.profile));
  if (arguments.has("prices")) {
    PJ_TRY(const CsvTable table, read_csv(arguments.value("prices")));
    PJ_TRY(request.prices, read_prices(table));
  }
  return request;
}

}  // namespace

std::string fluid_policy_words() {
  std::string words;
  for (const FluidPolicy& policy : fluid_policies())
    words += fmt::format("  {:21} {}\n", policy.name, policy.description);
  return words;
}

std::vector<Option> fleet_fluid_options() {
  return {
      {"policy", "NAME,...", "these policies only; saved is against the first", "", true},
      {"epoch", "TIME", "how long the number of servers stays as it is; 0: every bin", "0s"},
      {"servers", "COUNT", "servers there are; otherwise as many as the peak takes"},
      {"fixed-layout", "", "servers keep the layout that is best at the peak"},
      {"scale", "FACTOR", "times so much load", "1"},
      {"bin", "TIME", "bins that a trace is summed to", "60s"},
      {"column", "NAME", "which column of requests a minute: conv_req_per_min"},
      {"tokens-per-request", "COUNT", "prompt tokens of each of them"},
      {"prices", "FILE",
       "price and carbon of electricity: CSV of time (s), price_per_kwh, carbon_g_per_kwh"},
      {"gpu-hour-price", "PRICE", "what a GPU that is on costs an hour"},
      {"bins", "", "with --json: every bin of every policy"},
  };
}

Result<int> run_fleet_fluid(const Arguments& arguments) {
  PJ_TRY(const Request request, read_request(arguments));
  const Result<FluidFleet> fleet = FluidFleet::make(request.profile, request.load, request.options);
  if (!fleet && fleet.error().code == ErrorCode::kOutOfRange) {
    complain("fleet simulate: " + fleet.error().text());
    return kAnswerIsNo;
  }
  if (!fleet) return fail(fleet);
  FluidView view{request.profile, request.load,           request.options,
                 *fleet,          request.gpu_hour_price, {}};
  // What the others are held against, whether it is asked for or not.
  const FluidReport joint = fleet->run(fluid_policies().back());
  view.joint = joint.energy.joules;
  std::vector<FluidRow> rows;
  for (const FluidPolicy& policy : request.policies) {
    FluidRow row;
    const bool done = policy.name == joint.policy.name && policy.layout == joint.policy.layout;
    row.report = done ? joint : fleet->run(policy);
    if (request.prices) row.cost = cost_of(row.report.bins, *request.prices);
    rows.push_back(std::move(row));
  }
  print(arguments.json() ? fluid_json(view, rows, arguments.has("bins")).dump(2) + "\n"
                         : fluid_text(view, rows));
  return kDone;
}

}  // namespace perjoule::cli

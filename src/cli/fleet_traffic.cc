#include "cli/fleet_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/table.h"
#include "fleet/plan/load_curve.h"
#include "workload/azure_trace.h"

namespace perjoule::cli {
namespace {

/// So many requests of a trace say how long they are.
constexpr std::size_t kMostLengths = 200'000;
constexpr Seconds kBin = Seconds(60);

Outcome read_trace(const Arguments& arguments, FleetTraffic& traffic) {
  traffic.trace = arguments.value("LOAD");
  PJ_TRY(const double copies,
         number_within(arguments, "scale", 1, 10'000, "a number from 1 to 10000"));
  if (copies != std::floor(copies))
    return tl::unexpected(unfit(arguments, "scale", "a whole number of copies"));
  if (arguments.has("learn"))
    return Error::invalid_argument("--learn: a trace of requests has no days to learn from",
                                   "give a table of requests a minute with --lengths");
  traffic.copies = static_cast<int>(copies);
  PJ_TRY(traffic.lengths, read_lengths(traffic.trace));
  traffic.words = {printable(traffic.trace) +
                   (traffic.copies > 1
                        ? fmt::format(", each request {} times, every time at a drawn instant of "
                                      "its minute",
                                      traffic.copies)
                        : std::string())};
  return {};
}

Outcome read_rates(const Arguments& arguments, const CsvTable& table, FleetTraffic& traffic) {
  if (!table.column("minute_start")) {
    return Error::invalid_argument(table.name() + ": neither a trace nor requests a minute",
                                   "loads in prompt tokens a second are played with --fluid");
  }
  if (!arguments.has("lengths")) {
    return Error::invalid_argument(
        "a table of requests a minute does not say how long they are",
        "name a trace whose lengths they have, --lengths TRACE, or play it as a "
        "fluid, --fluid");
  }
  PJ_TRY(traffic.lengths, read_lengths(arguments.value("lengths")));
  RequestRates rates;
  rates.column = arguments.value("column");
  rates.tokens_per_request = 1;  // so that the curve is of requests
  PJ_TRY(rates.scale, number_within(arguments, "scale", 1e-6, 1e6, "a factor above 0"));
  PJ_TRY(const LoadCurve requests, read_load_curve(table, rates));
  std::vector<RateBin> bins = rate_bins_of(requests);
  Seconds learnt;
  if (arguments.has("learn")) {
    PJ_TRY(learnt, time_given(arguments, "learn"));
    const auto first = std::find_if(bins.begin(), bins.end(),
                                    [&](const RateBin& bin) { return bin.begin >= learnt; });
    traffic.learnt.assign(bins.begin(), first);
    bins.erase(bins.begin(), first);
    if (traffic.learnt.empty() || bins.empty())
      return tl::unexpected(unfit(arguments, "learn", "a time within the load"));
    for (RateBin& bin : bins) {
      bin.begin -= learnt;
      bin.end -= learnt;
    }
  }
  traffic.rates = std::move(bins);
  traffic.words = {
      fmt::format("requests drawn at the rates of {}, times {:g}{}",
                  printable(arguments.value("LOAD")), rates.scale,
                  learnt.value() > 0 ? ", after the " + to_text(learnt) + " that are learnt"
                                     : std::string()),
      "their lengths are those of " + printable(arguments.value("lengths"))};
  return {};
}

}  // namespace

Error unfit(const Arguments& arguments, std::string_view option, std::string_view wanted) {
  Error error;
  error.code = ErrorCode::kInvalidArgument;
  error.message = fmt::format("--{} {}: not {}", option, arguments.value(option), wanted);
  return error;
}

Result<double> number_within(const Arguments& arguments, std::string_view option, double least,
                             double most, std::string_view wanted) {
  const auto value = parse_number(arguments.value(option));
  if (value && *value >= least && *value <= most) return *value;
  return tl::unexpected(unfit(arguments, option, wanted));
}

Result<Seconds> time_given(const Arguments& arguments, std::string_view option) {
  PJ_TRY(const auto time, arguments.read<Seconds>(option, parse_seconds));
  if (time && time->value() >= 0 && time->value() <= 1e9) return *time;
  return tl::unexpected(unfit(arguments, option, "a time"));
}

Result<std::vector<TokenLengths>> read_lengths(const std::string& path) {
  PJ_TRY(AzureTrace trace, AzureTrace::open(path));
  std::vector<TokenLengths> lengths;
  while (lengths.size() < kMostLengths) {
    PJ_TRY(const std::optional<TokenLengths> one, trace.next());
    if (!one) break;
    lengths.push_back(*one);
  }
  if (lengths.empty()) return Error::data_loss(path + ": no requests");
  return lengths;
}

Result<std::unique_ptr<RequestStream>> FleetTraffic::stream() const {
  if (trace.empty()) return drawn(rates, lengths, seed);
  PJ_TRY(AzureTrace opened, AzureTrace::open(trace));
  return replayed(std::move(opened), {.copies = copies, .seed = seed});
}

Result<LoadCurve> FleetTraffic::load(OutputPredictor& predictor, std::int64_t most_tokens) const {
  if (trace.empty()) return class_load_of(rates, lengths, predictor, most_tokens);
  PJ_TRY(const auto requests, stream());
  return class_load_of(*requests, kBin, predictor, most_tokens);
}

Result<FleetTraffic> read_fleet_traffic(const Arguments& arguments) {
  FleetTraffic traffic;
  PJ_TRY(const double seed, number_within(arguments, "seed", 0, 1e15, "a number from 0 on"));
  traffic.seed = static_cast<std::uint64_t>(seed);
  const std::string path = arguments.value("LOAD");
  PJ_TRY(const std::string beginning, read_beginning(path, 4096));
  if (beginning.find("ContextTokens") != std::string::npos) {
    PJ_CHECK(read_trace(arguments, traffic));
  } else {
    PJ_TRY(const CsvTable table, read_csv(path));
    PJ_CHECK(read_rates(arguments, table, traffic));
  }
  return traffic;
}

}  // namespace perjoule::cli

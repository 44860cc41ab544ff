#include "workload/mlperf_loadgen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "base/text.h"
#include "workload/civil_time.h"

namespace perjoule {
namespace {

constexpr std::string_view kTitle = "MLPerf Results Summary";
constexpr double kNs = 1e-9;

/// The summary's lines by key; of a key given twice the first counts.
class Lines {
 public:
  Lines(std::string_view text, std::string_view name) : name_(name) {
    for (const std::string_view line : split(text, '\n')) {
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      values_.try_emplace(std::string(trim(line.substr(0, colon))), trim(line.substr(colon + 1)));
    }
  }

  std::string text(const std::string& key) const {
    const auto at = values_.find(key);
    return at == values_.end() ? std::string() : std::string(at->second);
  }
  std::optional<double> number(const std::string& key) {
    const auto at = values_.find(key);
    if (at == values_.end()) return std::nullopt;
    const auto value = parse_number(at->second);
    // A rate over no time is printed as inf or nan: none.
    const bool none = at->second == "inf" || at->second == "nan" || at->second == "-nan";
    if (!value && !none && outcome_) {
      outcome_ = Error::invalid_argument(
          fmt::format("{}: '{}' is not a number: {}", name_, key, at->second));
    }
    return value;
  }
  std::optional<Seconds> latency(const std::string& key) {
    const auto ns = number(key);
    return ns && *ns != 0 ? std::optional<Seconds>(Seconds(*ns * kNs)) : std::nullopt;
  }
  LatencySummary summary(const std::string& mean, const std::string& what) {
    const auto share = [&](const char* percent) {
      return latency(fmt::format("{} percentile {} (ns)", percent, what));
    };
    return {latency(mean), share("50.00"), share("90.00"), share("95.00"), share("99.00")};
  }
  Outcome outcome() const { return outcome_; }

 private:
  std::string name_;
  std::map<std::string, std::string_view> values_;
  Outcome outcome_;
};

/// ".../llama2-70b-99/Offline/performance/run_1/mlperf_log_summary.txt" names the model.
std::string model_of(std::string_view path, std::string_view scenario) {
  const auto parts = split(path, '/');
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    if (parts[i] == scenario && !parts[i - 1].empty()) return std::string(parts[i - 1]);
  }
  return "not stated";
}

void read_rates(Lines& lines, BenchResult& r) {
  const auto offline = lines.number("Samples per second");
  const auto completed = lines.number("Completed samples per second");
  const auto single = lines.number("QPS w/ loadgen overhead");
  r.load.delivered_per_s = offline ? offline : completed ? completed : single;
  r.rates.responses = r.load.delivered_per_s;
  const auto tokens = lines.number("Tokens per second");
  const auto done = lines.number("Completed tokens per second");
  const auto alone = lines.number("TPS w/ loadgen overhead");
  r.rates.output_tokens = tokens ? tokens : done ? done : alone;
}

void judge(const Lines& lines, BenchResult& r) {
  const std::string verdict = lines.text("Result is");
  if (verdict != "VALID")
    r.validity.push_back(fmt::format("loadgen says the result is '{}'", verdict));
  const std::string mode = lines.text("Mode");
  if (!starts_with_ignoring_case(mode, "performance"))
    r.validity.push_back(fmt::format("a run of the mode '{}'", mode));
}

/// Totals of a run of that many seconds at the rates.
void set_totals(double seconds, std::optional<double> responses, BenchResult& r) {
  const bool known =
      seconds > 0 && std::isfinite(seconds) && (!responses || std::isfinite(*responses));
  if (!known) return;
  r.totals.duration = Seconds(seconds);
  r.totals.responses = responses;
  if (r.rates.output_tokens) r.totals.output_tokens = *r.rates.output_tokens * seconds;
  if (responses && *responses > 0 && r.totals.output_tokens)
    r.lengths.mean_output = *r.totals.output_tokens / *responses;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// The stamp "MM-DD-YYYY hh:mm:ss.mmm" that stands anywhere in the line.
std::optional<std::int64_t> stamp_in(std::string_view line) {
  constexpr std::size_t kLength = 19;
  for (std::size_t i = 0; i + kLength <= line.size(); ++i) {
    if (line[i] < '0' || line[i] > '9') continue;
    std::size_t length = kLength;
    const auto digit = [&](std::size_t at) {
      return at < line.size() && line[at] >= '0' && line[at] <= '9';
    };
    if (i + length < line.size() && line[i + length] == '.' && digit(i + length + 1)) ++length;
    while (length > kLength && digit(i + length)) ++length;
    if (const auto stamp = parse_stamp(line.substr(i, length), "M-D-Y h:m:s", Seconds(0)))
      return stamp;
  }
  return std::nullopt;
}

/// The whole number behind "value": in a line of the log.
std::optional<std::int64_t> value_in(std::string_view line) {
  constexpr std::string_view kValue = "\"value\":";
  const std::size_t at = line.find(kValue);
  if (at == std::string_view::npos) return std::nullopt;
  const auto number = leading_number(trim(line.substr(at + kValue.size())));
  constexpr double kMost = 1e15;
  if (!number || !(*number >= 0 && *number <= kMost)) return std::nullopt;
  return std::llround(*number);
}

/// What the detailed log tells, by line.
struct Detail {
  std::optional<std::int64_t> begin;
  std::optional<std::int64_t> end;
  std::optional<std::int64_t> queries;
  bool stamps_named = false;
};

Detail read_detail(std::string_view text) {
  Detail detail;
  for (const std::string_view line : split(text, '\n')) {
    // Most lines are of single queries.
    if (line.find("ower_") != std::string_view::npos ||
        line.find("OWER_") != std::string_view::npos) {
      const std::string small = lower(line);
      const bool begin = small.find("power_begin") != std::string::npos;
      if (!begin && small.find("power_end") == std::string::npos) continue;
      detail.stamps_named = true;
      (begin ? detail.begin : detail.end) = stamp_in(line);
    } else if (line.find("\"result_query_count\"") != std::string_view::npos) {
      detail.queries = value_in(line);
    }
  }
  return detail;
}

}  // namespace

bool is_mlperf_summary(std::string_view text) {
  constexpr std::size_t kNear = 512;  // of the beginning
  return text.substr(0, 4) == "====" &&
         text.substr(0, kNear).find(kTitle) != std::string_view::npos;
}

Result<BenchResult> read_mlperf_summary(std::string_view text, std::string_view name) {
  Lines lines(text, name);
  BenchResult r;
  r.benchmark = kMlPerf;
  r.origin.file = name;
  r.task = lines.text("Scenario");
  if (r.task.empty()) return Error::invalid_argument(std::string(name) + ": no line 'Scenario'");
  r.model.id = model_of(name, r.task);
  r.engine.name = lines.text("SUT name");
  if (const auto asked = lines.number("target_qps"); asked && r.task == "Server")
    r.load.asked_per_s = asked;
  read_rates(lines, r);
  r.latency.e2el = lines.summary("Mean latency (ns)", "latency");
  r.latency.ttft = lines.summary("Mean First Token latency (ns)", "first token latency");
  r.latency.tpot = lines.summary("Mean Time per Output Token (ns)", "time to output token");
  if (!r.latency.tpot.mean) r.latency.tpot.mean = lines.latency("Mean Time to Output Token (ns)");
  judge(lines, r);
  if (r.task == "Offline") {
    const auto longest = lines.latency("Max latency (ns)");
    if (longest && r.load.delivered_per_s) {
      set_totals(longest->value(), std::round(*r.load.delivered_per_s * longest->value()), r);
    }
  }
  PJ_CHECK(lines.outcome());
  return r;
}

Outcome add_mlperf_detail(std::string_view text, std::string_view name, BenchResult& r) {
  const Detail detail = read_detail(text);
  if (detail.queries && *detail.queries > 1 && r.load.delivered_per_s &&
      *r.load.delivered_per_s > 0 && (r.task == "Server" || r.task == "SingleStream")) {
    const auto queries = static_cast<double>(*detail.queries);
    set_totals((queries - 1) / *r.load.delivered_per_s, queries, r);
  }
  if (!detail.stamps_named) return {};
  if (!detail.begin || !detail.end || *detail.end <= *detail.begin) {
    return Error::invalid_argument(
        fmt::format("{}: power_begin and power_end are not two stamps in order", name));
  }
  r.window = BenchWindow{*detail.begin, *detail.end, Seconds(1e-3), "power_begin to power_end"};
  return {};
}

}  // namespace perjoule

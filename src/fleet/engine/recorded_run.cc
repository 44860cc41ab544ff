#include "fleet/engine/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "base/json.h"

namespace perjoule {
namespace {

/// The host's time a step is looked for below that.
constexpr double kMostOverhead = 0.01;  // s
/// Halvings of it: to ten nanoseconds.
constexpr int kHalvings = 20;
/// When a run is over: later than any.
constexpr Seconds kEnd = Seconds(1e9);

/// One line's request, its arrival in the record's own time; none for what is no such record.
std::optional<ServedRequest> request_of(std::string_view line) {
  const auto json = parse_json(line);
  if (!json) return std::nullopt;
  std::array<double, 5> numbers = {};
  constexpr std::array<const char*, 5> kNames = {"input_toks", "output_toks", "queued_ts",
                                                 "first_token_ts", "last_token_ts"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto number = json->number(kNames[i]);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers[i] = *number;
  }
  const auto [prompt, output, queued, first, last] = numbers;
  if (!(prompt >= 1) || !(output >= 2) || !(queued <= first) || !(first <= last) ||
      std::max(prompt, output) > 1e9)
    return std::nullopt;
  return ServedRequest{Seconds(queued), static_cast<std::int64_t>(prompt),
                       static_cast<std::int64_t>(output), Seconds(first - queued),
                       Seconds((last - first) / (output - 1))};
}

class Recorder final : public EngineSink {
 public:
  Recorder(LiveRequests& live, std::vector<ServedRequest>& served) : live_(live), served_(served) {}
  void gaps(std::size_t, Seconds, std::int64_t) override {}
  void ended(RequestSlot slot, RequestEnd end, Seconds when) override {
    const LiveRequest& request = live_[slot];
    ServedRequest& one = served_[request.number];
    one.first_token = request.first_token - request.arrival;
    one.per_token = (when - request.first_token) / static_cast<double>(request.output - 1);
    done_ += end == RequestEnd::kDone;
    live_.release(slot);
  }
  std::size_t done() const { return done_; }

 private:
  LiveRequests& live_;
  std::vector<ServedRequest>& served_;
  std::size_t done_ = 0;
};

double mean(const std::vector<ServedRequest>& all, Seconds ServedRequest::*figure, std::size_t from,
            std::size_t until) {
  double sum = 0;
  for (std::size_t i = from; i < until; ++i) sum += (all[i].*figure).value();
  return sum / static_cast<double>(until - from);
}

}  // namespace

Result<std::vector<ServedRequest>> read_recorded_run(std::string_view text, std::string_view name) {
  std::vector<ServedRequest> run;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto request = request_of(text.substr(begin, end - begin));
    begin = end + 1;
    ++line;
    if (!request || (!run.empty() && request->arrival < run.back().arrival)) {
      return Error::data_loss(
          fmt::format("{}: line {}: no request with two tokens or more that "
                      "came after the one before it",
                      name, line));
    }
    run.push_back(*request);
  }
  if (run.empty()) return Error::data_loss(fmt::format("{}: no requests", name));
  const Seconds first = run.front().arrival;
  for (ServedRequest& one : run) one.arrival -= first;
  return run;
}

Result<std::vector<ServedRequest>> served_by(const std::vector<ServedRequest>& run,
                                             const StepModel& model, const EngineLimits& limits) {
  std::vector<ServedRequest> served = run;
  LiveRequests live;
  Recorder recorder(live, served);
  Instance instance(model, limits, live, recorder, Seconds(0));
  for (std::size_t i = 0; i < run.size(); ++i) {
    instance.advance(run[i].arrival);
    LiveRequest request;
    request.arrival = run[i].arrival;
    request.number = i;
    request.prompt = run[i].prompt;
    request.output = run[i].output;
    instance.take(live.add(request));
  }
  instance.advance(kEnd);
  if (recorder.done() != run.size()) {
    return Error::internal(
        fmt::format("an engine served {} of {} requests", recorder.done(), run.size()));
  }
  return served;
}

Result<RunAgreement> agreement_with(const std::vector<ServedRequest>& run,
                                    const OperatorTables& tables, const EngineLimits& limits,
                                    std::size_t fitted) {
  if (fitted == 0 || run.size() <= fitted) {
    return Error::invalid_argument(
        fmt::format("{} requests: too few to fit on {} and judge by others", run.size(), fitted));
  }
  const auto with_overhead = [&](double seconds) -> Result<std::vector<ServedRequest>> {
    PJ_TRY(const auto model, operator_steps(tables, {.overhead = Seconds(seconds)}));
    return served_by(run, *model, limits);
  };
  // By bisection: the time a token rises with it.
  double low = 0;
  double high = kMostOverhead;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    PJ_TRY(const auto served, with_overhead(middle));
    const bool is_less = mean(served, &ServedRequest::per_token, 0, fitted) <
                         mean(run, &ServedRequest::per_token, 0, fitted);
    (is_less ? low : high) = middle;
  }
  PJ_TRY(const auto served, with_overhead(low));
  const auto off = [&](Seconds ServedRequest::*figure) {
    return mean(served, figure, fitted, run.size()) / mean(run, figure, fitted, run.size()) - 1;
  };
  return RunAgreement{Seconds(low), off(&ServedRequest::first_token),
                      off(&ServedRequest::per_token), run.size() - fitted};
}

}  // namespace perjoule

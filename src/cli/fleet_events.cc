#include "cli/fleet_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/fleet_events_view.h"
#include "cli/fleet_options.h"
#include "cli/fleet_traffic.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "fleet/control/load_forecast.h"
#include "fleet/control/step_choice.h"
#include "fleet/engine/profile_trials.h"
#include "fleet/engine/table_steps.h"
#include "fleet/simulate/fleet_simulation.h"
#include "fleet/traffic/class_load.h"
#include "fleet/traffic/learned_predictor.h"

namespace perjoule::cli {
namespace {

struct Question {
  std::vector<FleetPolicy> policies;
  Transitions transitions;
  FleetTraffic traffic;
  std::vector<std::shared_ptr<const StepModel>> models;
  ServingProfile profile;
  std::optional<Confusion> confusion;       ///< of a predictor that errs
  std::optional<LearnedPredictor> learned;  ///< neither: one that is always right
  int most_servers = 1000;
  LayoutLimits limits = {.every = {.most_running = 256, .step_tokens = 512}, .step_tokens = {}};
  ServiceLevels levels = dynamo_levels();
  std::optional<PriceSeries> prices;
  FleetEventsView view;
};

Result<double> share(const Arguments& arguments, std::string_view option) {
  const auto value = parse_share(arguments.value(option));
  if (value && *value > 0 && *value <= 1) return *value;
  return tl::unexpected(unfit(arguments, option, "a share above 0 and up to 100%"));
}

/// "250ms,400ms,2s" and "100ms".
Result<ServiceLevels> read_levels(const Arguments& arguments) {
  ServiceLevels levels = dynamo_levels();
  PJ_TRY(const Seconds gap, time_given(arguments, "between-tokens"));
  const std::vector<std::string> words = list_words({arguments.value("first-token")});
  if (words.size() != kLengthClasses)
    return tl::unexpected(
        unfit(arguments, "first-token", "three times: short, medium, long prompts"));
  for (std::size_t i = 0; i < kLoadClasses; ++i) {
    const std::string& word = words[input_of(static_cast<LoadClass>(i))];
    const auto time = parse_seconds(word);
    if (!time || !(time->value() > 0))
      return tl::unexpected(unfit(arguments, "first-token", "times above 0"));
    levels[i] = {*time, gap};
  }
  return levels;
}

Result<std::vector<FleetPolicy>> read_policies(const Arguments& arguments) {
  PJ_TRY(const std::vector<std::string> names, arguments.list("policy"));
  std::vector<FleetPolicy> policies;
  for (const std::string& name : names) {
    PJ_TRY(FleetPolicy policy, policy_named(name));
    policies.push_back(std::move(policy));
  }
  if (policies.empty()) policies = fleet_policies();
  PJ_TRY(const double attainment, share(arguments, "attainment"));
  PJ_TRY(const double margin,
         number_within(arguments, "margin", 0.1, 10, "a factor from 0.1 to 10"));
  PJ_TRY(const Seconds squash, time_given(arguments, "squash-after"));
  const std::string outliving = arguments.value("outliving");
  if (outliving != "keep" && outliving != "speed-up" && outliving != "move")
    return tl::unexpected(unfit(arguments, "outliving", "keep, speed-up or move"));
  for (FleetPolicy& policy : policies) {
    policy.least_attainment = attainment;
    policy.margin = margin;
    policy.squash_after = squash;
    policy.outliving = outliving == "keep"   ? Outliving::kKeep
                       : outliving == "move" ? Outliving::kMove
                                             : Outliving::kSpeedUp;
  }
  return policies;
}

/// Tries of what instances carry, that are shown as they go on.
struct ShownTrials {
  ShownTrials(const Question& question, const std::string& what) {
    trials.limits = question.limits;
    trials.levels = question.levels;
    trials.seed = question.traffic.seed;
    trials.progress = [this, what](std::size_t done, std::size_t all) {
      const std::lock_guard lock(drawing);
      progress.show(static_cast<double>(done) / static_cast<double>(all), what);
    };
  }
  Progress progress;
  std::mutex drawing;  // guards progress
  ProfileTrials trials;
};

Result<ServingProfile> read_profile(const Arguments& arguments, const Question& question) {
  if (arguments.has("profile")) return fleet_profile(arguments);
  const ShownTrials shown(question, "trying what instances carry");
  return profile_of_engines(question.models, question.traffic.lengths, shown.trials);
}

/// Those of each layout's engines, as many as are given or the best.
Outcome read_steps(const Arguments& arguments, Question& question) {
  const bool is_best = arguments.value("step-tokens") == "best";
  if (!is_best) {
    PJ_TRY(const double chunk,
           number_within(arguments, "step-tokens", 1, 65'536, "a number from 1 to 65536, or best"));
    question.limits.every.step_tokens = static_cast<std::int64_t>(chunk);
  }
  for (const auto& model : question.models) {
    question.view.engines.push_back(
        {model->traits().layout.gpus(), question.limits.every.step_tokens, {}});
  }
  if (!is_best) return {};
  const ShownTrials shown(question, "trying steps");
  PJ_TRY(const std::vector<StepChoice> choices,
         best_steps(question.models, question.traffic.lengths, shown.trials,
                    question.view.least_attainment));
  std::string words;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    EngineSteps& engine = question.view.engines[i];
    engine.step_tokens = choices[i].step_tokens;
    engine.carries = choices[i].carries;
    question.limits.step_tokens.push_back(choices[i].step_tokens);
    words +=
        fmt::format("{}{} over {} GPUs ({:.4g}/s in time at {:g} MHz)", i == 0 ? "" : ", ",
                    choices[i].step_tokens, engine.gpus, choices[i].carries, choices[i].clock_mhz);
  }
  question.view.notes.push_back("tokens a step, of which instances carry most: " + words);
  return {};
}

/// "oracle", "wrong:40%", "learned", or the file of one that was kept.
Outcome read_predictor(const Arguments& arguments, Question& question) {
  const std::string word = arguments.value("predictor");
  constexpr std::string_view kWrong = "wrong:";
  if (word.starts_with(kWrong)) {
    const auto wrong = parse_share(std::string_view(word).substr(kWrong.size()));
    if (!wrong || !(*wrong >= 0 && *wrong <= 1))
      return tl::unexpected(unfit(arguments, "predictor", "a share between 0 and 1: wrong:40%"));
    question.confusion = even_confusion(*wrong);
  } else if (word == "learned") {
    const std::string trace = arguments.value("train");
    if (trace.empty())
      return Error::invalid_argument("--predictor learned: from which trace?", "--train TRACE");
    PJ_TRY(const std::vector<TokenLengths> lengths, read_lengths(trace));
    PJ_TRY(question.learned, LearnedPredictor::train(lengths));
    question.view.notes.push_back(fmt::format(
        "output lengths predicted from prompt lengths, learnt from {}: {:.1f} % right there",
        printable(trace), 100 * question.learned->accuracy(lengths).right));
  } else if (word != "oracle") {
    const auto text = read_file(word);
    if (!text)
      return Error::invalid_argument(
          "--predictor " + word + ": no such predictor or file",
          "oracle, wrong:SHARE, learned, or what --keep-predictor wrote");
    auto kept = LearnedPredictor::parse(*text);
    if (!kept) return fail(kept, "--predictor " + word);
    question.learned = std::move(*kept);
  }
  if (!arguments.has("keep-predictor")) return {};
  if (!question.learned)
    return Error::invalid_argument("--keep-predictor: there is none that was learnt",
                                   "--predictor learned --train TRACE");
  return write_file_atomically(arguments.value("keep-predictor"), question.learned->text());
}

Result<Question> read_question(const Arguments& arguments) {
  Question question;
  PJ_TRY(question.policies, read_policies(arguments));
  PJ_TRY(question.transitions.start, time_given(arguments, "start"));
  PJ_TRY(question.transitions.reshard, time_given(arguments, "reshard"));
  PJ_TRY(question.transitions.clock, time_given(arguments, "clock-delay"));
  if (arguments.has("servers")) {
    PJ_TRY(const double servers,
           number_within(arguments, "servers", 1, 100'000, "a number from 1 to 100000"));
    question.most_servers = static_cast<int>(servers);
  }
  PJ_TRY(question.levels, read_levels(arguments));
  PJ_CHECK(read_predictor(arguments, question));
  if (arguments.has("gpu-hour-price")) {
    PJ_TRY(question.view.gpu_hour_price,
           number_within(arguments, "gpu-hour-price", 0, 1e9, "a price"));
  }
  if (arguments.has("prices")) {
    PJ_TRY(const CsvTable table, read_csv(arguments.value("prices")));
    PJ_TRY(question.prices, read_prices(table));
  }
  question.view.by_class = arguments.has("classes");
  question.view.least_attainment = question.policies.front().least_attainment;
  PJ_TRY(question.traffic, read_fleet_traffic(arguments));
  PJ_TRY(question.models, table_steps(shipped_step_tables()));
  question.view.load = question.traffic.words;
  PJ_CHECK(read_steps(arguments, question));
  PJ_TRY(question.profile, read_profile(arguments, question));
  if (!arguments.has("learn"))
    question.view.load.push_back("known beforehand, by the classes that are predicted");
  for (const Option& option : fleet_event_options()) {
    if (option.name != "timeline" && option.name != "classes" && option.name != "keep-predictor")
      question.view.settings[option.name] = arguments.value(option.name);
  }
  for (const char* const name : {"scale", "column", "servers", "profile"})
    question.view.settings[name] = arguments.value(name);
  question.view.notes.insert(question.view.notes.end(), question.profile.notes.begin(),
                             question.profile.notes.end());
  return question;
}

/// A fresh one, with the same draws each time.
Result<std::unique_ptr<OutputPredictor>> make_predictor(const Question& question) {
  if (question.learned) return std::make_unique<LearnedPredictor>(*question.learned);
  if (question.confusion) return confused_predictor(*question.confusion, question.traffic.seed);
  return oracle_predictor();
}

/// More than these no engine holds.
std::int64_t most_tokens(const Question& question) {
  std::int64_t most = 0;
  for (const auto& model : question.models) most = std::max(most, model->traits().cache_tokens);
  return most;
}

Result<std::unique_ptr<LoadForecast>> make_forecast(const Question& question, const LoadCurve& load,
                                                    OutputPredictor& predictor) {
  const FleetTraffic& traffic = question.traffic;
  if (traffic.learnt.empty()) return known_load(load);
  return daily_template(
      class_load_of(traffic.learnt, traffic.lengths, predictor, most_tokens(question)),
      {.now = traffic.learnt.back().end});
}

/// What servers that stay as they are must carry: the peak of the load, or, where days before it
/// were learnt, of the day that is expected of them.
LoadCurve sizing_load(const Question& question, const LoadCurve& load,
                      const LoadForecast& forecast) {
  if (question.traffic.learnt.empty()) return load;
  constexpr double kDay = 86'400;
  const RateBin& first = question.traffic.learnt.front();
  const Seconds step = first.end - first.begin;
  LoadCurve day;
  day.classes = load.classes;
  for (Seconds at; at.value() < kDay; at += step) {
    const ClassLoads loads = forecast.peak(at, at + step);
    day.bins.push_back({at, step, {loads.begin(), loads.end()}});
  }
  return day;
}

std::vector<FluidBin> priced_bins(const FleetReport& report) {
  std::vector<FluidBin> bins;
  for (const FleetBin& bin : report.bins) {
    FluidBin one;
    one.start = bin.start;
    one.duration = bin.duration;
    one.power = bin.energy / bin.duration;
    bins.push_back(one);
  }
  return bins;
}

Result<FleetEventsRow> run_policy(const Question& question, const FleetPolicy& policy,
                                  const EngineCapacity& capacity) {
  // What is known of the load has draws of the predictor of its own.
  PJ_TRY(const auto before, make_predictor(question));
  PJ_TRY(const auto predictor, make_predictor(question));
  PJ_TRY(const LoadCurve load, question.traffic.load(*before, most_tokens(question)));
  PJ_TRY(const auto forecast, make_forecast(question, load, *before));
  PJ_TRY(const auto stream, question.traffic.stream());
  Progress progress;
  const LoadBin& last = load.bins.back();
  const double end = (last.start + last.duration).value();
  FleetSetup setup;
  setup.models = question.models;
  setup.most_servers = question.most_servers;
  setup.limits = question.limits;
  setup.levels = question.levels;
  setup.transitions = question.transitions;
  setup.capacity = &capacity;
  setup.forecast = forecast.get();
  const LoadCurve sizing = sizing_load(question, load, *forecast);
  setup.peak = peak_of(sizing);
  setup.peak_of_all = peak_of_all(sizing);
  setup.predictor = predictor.get();
  setup.progress = [&](Seconds now) {
    progress.show(std::min(1.0, now.value() / end), policy.name);
  };
  FleetEventsRow row;
  PJ_TRY(row.report, simulate_fleet(setup, policy, *stream));
  if (question.prices) row.cost = cost_of(priced_bins(row.report), *question.prices);
  return row;
}

std::vector<InstanceLayout> layouts_of(
    const std::vector<std::shared_ptr<const StepModel>>& models) {
  std::vector<InstanceLayout> layouts;
  layouts.reserve(models.size());
  for (const auto& model : models) layouts.push_back(model->traits().layout);
  return layouts;
}

}  // namespace

std::string fleet_policy_words() {
  std::string words;
  for (const FleetPolicy& policy : fleet_policies())
    words += fmt::format("  {:12} {}\n", policy.name, policy.description);
  return words;
}

std::vector<Option> fleet_event_options() {
  return {
      {"attainment", "SHARE", "share of requests that are to have their tokens in time", "95%"},
      {"first-token", "TIME,TIME,TIME", "when it is due after short, medium and long prompts",
       "250ms,400ms,2s"},
      {"between-tokens", "TIME", "how long the next token may take", "100ms"},
      {"step-tokens", "COUNT",
       "tokens that a step of an engine computes at most; best: by layout, as most is carried",
       "512"},
      {"lengths", "TRACE", "whose lengths the requests of a table of rates have"},
      {"learn", "TIME",
       "so much of a table of rates is learnt as a daily template; else it is known"},
      {"predictor", "NAME", "of output lengths: oracle, wrong:SHARE, learned, or a FILE", "oracle"},
      {"train", "TRACE", "what a learned predictor learns from"},
      {"keep-predictor", "FILE", "write what was learnt there, for --predictor FILE"},
      {"outliving", "WHAT", "requests longer than predicted: keep, speed-up or move", "keep"},
      {"margin", "FACTOR", "capacity over the load that is expected", "1.1"},
      {"squash-after", "TIME", "give a request up that has no token by then", "60s"},
      {"start", "TIME", "of a server from nothing", "420s"},
      {"reshard", "TIME", "of a server to other shards, once it is empty", "1.55s"},
      {"clock-delay", "TIME", "until a clock that was asked for holds", "65ms"},
      {"seed", "NUMBER", "of all that is drawn", "1"},
      {"classes", "", "each class of requests by itself"},
      {"timeline", "FILE", "write energy, servers and load by the minute there, as CSV"},
  };
}

Result<int> run_fleet_events(const Arguments& arguments) {
  const std::string timeline = arguments.value("timeline");
  if (!timeline.empty()) PJ_CHECK(check_writable(timeline));
  PJ_TRY(Question question, read_question(arguments));
  PJ_TRY(const EngineCapacity capacity,
         EngineCapacity::make(question.profile, layouts_of(question.models),
                              question.view.least_attainment));
  std::vector<FleetEventsRow> rows;
  int status = kDone;
  for (const FleetPolicy& policy : question.policies) {
    auto row = run_policy(question, policy, capacity);
    if (!row && row.error().code == ErrorCode::kOutOfRange) {
      complain("fleet simulate: " + row.error().text());
      status = kAnswerIsNo;
      continue;
    }
    if (!row) return fail(row);
    rows.push_back(std::move(*row));
  }
  if (rows.empty()) return status;
  if (!timeline.empty()) PJ_CHECK(write_file_atomically(timeline, fleet_timeline_csv(rows)));
  print(arguments.json() ? fleet_events_json(question.view, rows).dump(2) + "\n"
                         : fleet_events_text(question.view, rows));
  return status;
}

}  // namespace perjoule::cli

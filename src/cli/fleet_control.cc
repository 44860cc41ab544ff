// perjoule fleet control: the clocks, instances and servers of a real fleet, by its load.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "cli/fleet_control_file.h"
#include "cli/fleet_control_view.h"
#include "cli/fleet_readings.h"
#include "cli/machine.h"
#include "cli/stop_on_signal.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "fleet/hands/controlled_profile.h"
#include "fleet/hands/fleet_loop.h"
#include "fleet/hands/present_load.h"
#include "fleet/hands/recent_load.h"
#include "fleet/profile/profile_builder.h"
#include "fleet/profile/read_profile.h"

namespace perjoule::cli {
namespace {

constexpr Seconds kLook{0.05};
constexpr Seconds kShortestPeriod{0.2};

/// The file with what the command line says over it.
struct ControlWords {
  FleetControlFile file;
  ControlledProfile ready;
  FleetReadingOptions reading;
  std::optional<LoadHistory> history;  ///< of the fleet's pools
  std::optional<Seconds> duration;
  bool is_dry = false;
};

/// Controllers with longer periods act when a clock's period ends with theirs.
Outcome check_periods(const FleetPolicy& policy) {
  const double every = policy.clock_period.value();
  if (!(policy.clock_period >= kShortestPeriod)) {
    return Error::invalid_argument(fmt::format(
        "every {}: less than {}", to_text(policy.clock_period, 3), to_text(kShortestPeriod, 3)));
  }
  for (const auto& [scales, period, name] :
       {std::tuple{policy.scales_shards, policy.shard_period, "shard-period"},
        {policy.scales_instances, policy.instance_period, "instance-period"}}) {
    const double count = period.value() / every;
    if (!scales || (count >= 1 && std::abs(count - std::round(count)) < 1e-6)) continue;
    return Error::invalid_argument(fmt::format("every {}: {} {} is no multiple of it",
                                               to_text(policy.clock_period, 3), name,
                                               to_text(period, 4)));
  }
  return {};
}

Result<ControlledProfile> ready_profile(const std::string& path, const FleetControlFile& file) {
  std::vector<ServingProfile> profiles;
  for (const std::string& one : file.profiles) {
    PJ_TRY(ServingProfile profile, read_serving_profile(beside(path, one), {}));
    profiles.push_back(std::move(profile));
  }
  PJ_TRY(const ServingProfile all, join_profiles(profiles));
  return controlled_profile(all, {.model = file.model,
                                  .gpu = file.gpu,
                                  .degrees = file.degrees,
                                  .levels = file.levels.value_or(dynamo_levels())});
}

Result<ControlWords> read_words(const Arguments& arguments) {
  ControlWords words;
  const std::string path = arguments.value("FLEET");
  PJ_TRY(const std::string text, read_file(path));
  PJ_TRY(words.file, read_fleet_control(text, path));
  PJ_TRY(const auto every, arguments.read<Seconds>("every", parse_seconds));
  if (every) words.file.policy.clock_period = *every;
  PJ_CHECK(check_periods(words.file.policy));
  PJ_TRY(words.duration, arguments.read<Seconds>("for", parse_seconds));
  if (words.duration && !(words.duration->value() > 0))
    return Error::invalid_argument("--for " + arguments.value("for") + ": not above 0");
  words.is_dry = arguments.has("dry-run");
  words.reading.token_variable = arguments.value("token-variable");
  words.reading.http.tls.verifies = !arguments.has("insecure");
  words.reading.http.tls.authorities = arguments.value("ca");
  PJ_TRY(words.ready, ready_profile(path, words.file));
  if (words.file.history) {
    PJ_TRY(words.history, load_history(*words.file.history, path, words.file.policy.has_pools,
                                       words.file.servers));
  }
  return words;
}

/// What a reader should know before anything is decided.
std::vector<std::string> notes_of(const FleetControlFile& file, const EngineCapacity& capacity) {
  std::vector<std::string> notes;
  const std::size_t highest = capacity.clocks() - 1;
  for (const FleetServer& server : file.servers) {
    const std::size_t load_class = file.policy.has_pools ? server.pool : kMixedClass;
    for (const FleetInstance& one : server.instances) {
      if (capacity.highest_load(one.layout, highest, load_class) > 0) continue;
      std::string note = fmt::format(
          "by the profile, instances of {} GPUs are never in time for pool {}: they stay at the "
          "highest clock",
          capacity.gpus(one.layout), server.pool_name);
      if (std::find(notes.begin(), notes.end(), note) == notes.end())
        notes.push_back(std::move(note));
    }
  }
  if (file.policy.scales_instances && !file.history)
    notes.push_back("no history: the load of the last period is expected again");
  if (!file.policy.scales_instances && file.history)
    notes.push_back("policy " + file.policy.name + " counts no servers, so its history is unused");
  if (!file.policy.scales_clocks && !file.policy.scales_shards && !file.policy.scales_instances)
    notes.push_back("policy " + file.policy.name + " turns nothing");
  return notes;
}

/// The loop beside the clock, the signals and the terminal.
class Control {
 public:
  Control(const Arguments& arguments, const ControlWords& words, const FleetControlView& view,
          const Clock& clock, FleetReadings& readings, FleetServers& servers, FleetLoop& loop,
          const StopOnSignal& signals)
      : arguments_(arguments),
        words_(words),
        view_(view),
        clock_(clock),
        readings_(readings),
        servers_(servers),
        loop_(loop),
        signals_(signals),
        begun_(clock.now()) {}

  Result<int> run() {
    print(arguments_.json() ? control_heading_json(view_).dump() + "\n" : control_heading(view_));
    const Instant end = words_.duration ? begun_ + *words_.duration
                                        : Instant{std::numeric_limits<std::int64_t>::max()};
    bool any_reached = false;
    // A look that takes longer than a period is followed by the next whole multiple of it.
    for (double period = 0;;) {
      step(period);
      any_reached = servers_.any_reached();
      period = std::max(period + 1, std::ceil((clock_.now() - begun_) / every() - 1e-9));
      const Instant next = std::min(begun_ + every() * period, end);
      wait_until(next, true);
      if (is_over(end)) break;
    }
    return finish(any_reached);
  }

 private:
  Seconds every() const { return words_.file.policy.clock_period; }
  Seconds now() const { return clock_.now() - begun_; }
  bool is_over(Instant end) const {
    return clock_.now() >= end || signals_.signal() != 0 || output_failed() != 0;
  }

  void wait_until(Instant next, bool may_end) {
    while (clock_.now() < next && !(may_end && signals_.signal() != 0)) {
      tell(loop_.poll(now()));
      clock_.sleep_until(std::min(next, clock_.now() + kLook));
    }
  }

  void step(double period) {
    tell(loop_.step(every() * period, readings_.read()));
    if (arguments_.json() && !loop_.reasons().empty())
      print(period_json(view_, every() * period, loop_).dump() + "\n");
  }

  void tell(const std::vector<FleetEvent>& events) {
    for (const FleetEvent& event : events) {
      tally_.add(event);
      print(arguments_.json() ? event_json(event).dump() + "\n" : event_line(event));
    }
  }

  Result<int> finish(bool any_reached) {
    FleetLoop::Ending ending = loop_.end(now(), words_.file.leaves_servers);
    tell(ending.events);
    if (!ending.clocks) complain(ending.clocks.error().text());
    if (!loop_.is_settled()) complain("bringing servers back to what was found");
    const Instant give_up =
        clock_.now() + words_.file.transitions.drain + words_.file.command_within * 3;
    while (!loop_.is_settled() && clock_.now() < give_up) {
      wait_until(std::min(give_up, clock_.now() + every()), false);
      tell(loop_.step(now(), readings_.read()));
    }
    const bool is_settled = loop_.is_settled();
    if (!is_settled) complain("some servers are not as they were found");
    print(arguments_.json()
              ? tally_.json(now(), ending.clocks.has_value(), signals_.signal()).dump() + "\n"
              : tally_.text(now()));
    if (!ending.clocks || !is_settled) return kMachineCannot;
    if (signals_.signal() != 0) return kSignalled + signals_.signal();
    return any_reached ? kDone : kMachineCannot;
  }

  const Arguments& arguments_;
  const ControlWords& words_;
  const FleetControlView& view_;
  const Clock& clock_;
  FleetReadings& readings_;
  FleetServers& servers_;
  FleetLoop& loop_;
  const StopOnSignal& signals_;
  Instant begun_;
  FleetTally tally_;
};

/// What is to be expected: of other days' load from now on, or what came lately.
Result<std::unique_ptr<LoadForecast>> make_forecast(const ControlWords& words, const Clock& clock) {
  if (!words.history) return recent_load(words.file.policy.instance_period);
  PJ_TRY(auto learnt, forecast_of(*words.history, clock.unix_ns()));
  return at_least_present(std::move(learnt));
}

/// The hands, of which a dry run's only look whether the others could be had.
Result<std::unique_ptr<FleetHands>> make_hands(const ControlWords& words, const Inventory& machine,
                                               const Clock& clock) {
  const FleetControlFile& file = words.file;
  if (words.is_dry) {
    if (file.policy.scales_clocks) {
      const auto knobs = clock_knobs_of(machine, file.servers);
      if (!knobs) return fail(knobs);
    }
    return std::unique_ptr<FleetHands>(std::make_unique<DryHands>());
  }
  PJ_TRY(auto hands, KnobHands::make(machine, journal_folder(), file.servers, file.commands,
                                     file.command_within, file.policy.scales_clocks, clock));
  return std::unique_ptr<FleetHands>(std::move(hands));
}

Result<int> control(const Arguments& arguments) {
  PJ_TRY(const ControlWords words, read_words(arguments));
  const FleetControlFile& file = words.file;
  PJ_TRY(
      const EngineCapacity capacity,
      EngineCapacity::make(words.ready.profile, words.ready.layouts, file.policy.least_attainment));
  const RealClock clock;
  // A dry run leaves alone even what a dead process left.
  PJ_TRY(const Inventory machine, words.is_dry ? look_at_machine(clock) : find_machine(clock));
  PJ_TRY(const auto hands, make_hands(words, machine, clock));
  PJ_TRY(const auto readings, FleetReadings::create(file, words.reading, clock));

  PJ_TRY(const std::unique_ptr<LoadForecast> forecast, make_forecast(words, clock));
  ControllerSetup setup;
  setup.capacity = &capacity;
  setup.levels = file.levels.value_or(dynamo_levels());
  setup.transitions = file.transitions;
  setup.gpus_per_server = file.gpus_per_server;
  setup.most_servers = static_cast<int>(file.servers.size());
  setup.idle_gpu = file.idle_gpu.value_or(words.ready.least_of_a_gpu);
  setup.forecast = forecast.get();
  FleetController controller(file.policy, setup);
  // What the period that begins now takes is known only from other days.
  if (file.policy.scales_instances && words.history) controller.expect(Seconds(0));
  FleetMind mind;
  mind.decide = [&](const FleetView& view) { return controller.decide(view); };
  mind.carries = [&](std::size_t pool, std::size_t layout, std::size_t at) {
    return controller.carries(pool, layout, at);
  };
  mind.expects = [&](std::size_t pool) { return controller.expected(pool); };
  for (std::size_t i = 0; i < capacity.clocks(); ++i)
    mind.clocks_mhz.push_back(capacity.clock_mhz(i));

  FleetServers servers(file.servers, {.pools = controller.pools(),
                                      .layouts = capacity.layouts(),
                                      .highest_clock = capacity.clocks() - 1,
                                      .least_attainment = file.policy.least_attainment,
                                      .levels = setup.levels,
                                      .drain = file.transitions.drain,
                                      .start_within = file.start_within});
  FleetLoop loop(servers, mind, *hands, file.policy.scales_clocks);
  const FleetControlView view{.file = file,
                              .ready = words.ready,
                              .clocks_mhz = mind.clocks_mhz,
                              .idle_gpu = setup.idle_gpu,
                              .is_dry = words.is_dry,
                              .history = words.history ? &*words.history : nullptr,
                              .notes = notes_of(file, capacity)};
  PJ_TRY(const auto signals, StopOnSignal::start());
  return Control(arguments, words, view, clock, *readings, servers, loop, *signals).run();
}

}  // namespace

Verb fleet_control_verb() {
  Verb verb;
  verb.name = "fleet control";
  verb.summary = "set the clocks, instances and servers of a real fleet by its load";
  verb.description =
      "Reads the load of every instance (vLLM's, SGLang's and llama.cpp's own metrics, or a\n"
      "Prometheus server that has them), decides as perjoule fleet simulate does, and carries it\n"
      "out: clocks by this machine's knobs, journalled and put back at the end, servers by "
      "commands\n"
      "of the file's. A line for each decision says what, why and what became of it; what fails "
      "is\n"
      "tried again with the next period. Servers are counted from the load of other days where "
      "the\n"
      "file names a history of it, else from the last period's. Ends on a signal or after --for,\n"
      "with clocks and servers as they were found. With --json a document a line. docs/fleet.md "
      "has the whole of it.";
  verb.positionals = {{"FLEET", "the file that describes the fleet (docs/formats.md)"}};
  verb.options = {
      {"dry-run", "", "only say what would be done: no clock is set and no command run"},
      {"for", "TIME", "how long; until it is interrupted where it is left out"},
      {"every", "TIME", "how often clocks are decided on, over the file's"},
      {"token-variable", "NAME", "the variable that holds the engines' bearer token",
       "OPENAI_API_KEY"},
      {"ca", "FILE", "trust these authorities (PEM) in place of the system's"},
      {"insecure", "", "trust any certificate"},
  };
  verb.examples = {
      "perjoule fleet control fleet.toml --dry-run --for 1min",
      "perjoule fleet control fleet.toml --json",
  };
  verb.run = control;
  return verb;
}

}  // namespace perjoule::cli

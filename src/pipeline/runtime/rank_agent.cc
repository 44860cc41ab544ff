#include "pipeline/runtime/rank_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/text.h"
#include "device/selection.h"
#include "net/line_socket.h"
#include "pipeline/runtime/plan_messages.h"
#include "pipeline/runtime/plan_server.h"

namespace perjoule {
namespace {

constexpr std::size_t kTimelineBytes = 1U << 20U;
// A plan of a thousand GPUs takes seconds to make, but that is done beside; an answer takes none.
constexpr Seconds kPatience{30};
constexpr Seconds kNotRun{std::numeric_limits<double>::quiet_NaN()};

class SocketLink final : public PlanLink {
 public:
  explicit SocketLink(LineClient client) : client_(std::move(client)) {}

  Result<RankWelcome> join(const RankPlace& place) override {
    Json question = to_json(place);
    question["call"] = "join";
    PJ_TRY(const Json answer, ask(question));
    PJ_TRY(RankWelcome welcome, rank_welcome_of(answer));
    rank_ = welcome.rank;
    return welcome;
  }
  Result<std::optional<RankOrders>> next(std::int64_t iteration, std::int64_t have,
                                         const std::optional<IterationReport>& report) override {
    Json question = call("next", report);
    question["iteration"] = iteration;
    question["have"] = have;
    PJ_TRY(const Json answer, ask(question));
    if (answer.integer("epoch") == have) return std::optional<RankOrders>();
    PJ_TRY(RankOrders orders, rank_orders_of(answer));
    return std::optional<RankOrders>(std::move(orders));
  }
  Outcome leave(const std::optional<IterationReport>& report) override {
    PJ_TRY(const Json answer, ask(call("leave", report)));
    return {};
  }

 private:
  Json call(std::string_view name, const std::optional<IterationReport>& report) const {
    Json question = Json::object();
    question["call"] = name;
    question["rank"] = rank_;
    if (report) question["report"] = to_json(*report);
    return question;
  }
  Result<Json> ask(const Json& question) { return ask_plan_server(client_, question, kPatience); }

  LineClient client_;
  int rank_ = 0;
};

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

/// The GPU that the rank computes on.
Result<Device*> find_gpu(const Inventory& machine, const std::string& word) {
  const std::string wanted = word.empty() ? "gpu" : word;
  PJ_TRY(const ChosenSources chosen,
         choose_sources(machine, {wanted}, VisibleVariables::from_environment()));
  if (chosen.devices.size() != 1) {
    return Error::invalid_argument(
        fmt::format("this rank may see {} GPUs, and it is not said which is its own",
                    chosen.devices.size()),
        "name it, or let each rank see only its own (CUDA_VISIBLE_DEVICES)");
  }
  Device* const device = machine.find_device(chosen.devices.front());
  if (device->info().kind != DeviceKind::kGpu)
    return Error::invalid_argument(device->info().id + " is no GPU");
  return device;
}

/// A profile's column that names a device's knob: its own name, or what tables call a clock.
bool names(std::string_view column, const Knob& knob) {
  if (equals_ignoring_case(column, knob.info().name)) return true;
  return knob.info().name == "clock" &&
         (equals_ignoring_case(column, "frequency") || equals_ignoring_case(column, "freq") ||
          equals_ignoring_case(column, "sm clock"));
}

Result<KnobValues> values_of(const Config& setting, const std::vector<Knob*>& knobs) {
  KnobValues values;
  for (const Setting one : setting.settings()) {
    if (one.value.empty()) continue;  // the profile leaves it as it is
    const auto knob = std::find_if(knobs.begin(), knobs.end(),
                                   [&](const Knob* its) { return names(one.name, *its); });
    if (knob == knobs.end()) {
      return Error::not_supported(
          fmt::format("the plan sets '{}', which this GPU has no knob for", one.name),
          "plan with knobs that perjoule devices lists: clock (or frequency), power limit, ...");
    }
    std::string value(one.value);
    if (parse_number(value) && !(*knob)->info().unit.empty()) value += " " + (*knob)->info().unit;
    values.emplace_back(*knob, std::move(value));
  }
  return values;
}

}  // namespace

Result<std::unique_ptr<PlanLink>> connect_plan_link(const std::string& path) {
  PJ_TRY(LineClient client, LineClient::connect(path, kPatience));
  return std::unique_ptr<PlanLink>(new SocketLink(std::move(client)));
}

RankAgent::RankAgent(const Clock& clock, std::unique_ptr<PlanLink> link, RankOptions options)
    : clock_(clock), link_(std::move(link)), options_(std::move(options)) {}

Result<std::unique_ptr<RankAgent>> RankAgent::join(const Inventory& machine, const Clock& clock,
                                                   std::unique_ptr<PlanLink> link,
                                                   const RankOptions& options) {
  PJ_TRY(Device* const gpu, find_gpu(machine, options.device));
  std::unique_ptr<RankAgent> agent(new RankAgent(clock, std::move(link), options));
  PJ_CHECK(agent->watch(machine, *gpu));
  PJ_TRY(const RankWelcome welcome, agent->link_->join(agent->place_));
  agent->instructions_ = welcome.order.size();
  for (std::size_t i = 0; i < welcome.order.size(); ++i) {
    const PipelineStep& step = welcome.order[i];
    agent
        ->positions_[{lower(welcome.instructions[step.instruction]), step.microbatch, step.chunk}] =
        i;
  }
  agent->orders_.epoch = -1;
  return agent;
}

Outcome RankAgent::watch(const Inventory& machine, Device& gpu) {
  std::vector<Source*> counters;
  for (Source* const source : gpu.sources()) {
    if (source->info().overlaps.empty()) counters.push_back(source);
  }
  if (counters.empty())
    return Error::not_supported(gpu.info().id + " tells neither energy nor power");
  meter_ = std::make_unique<Meter>(std::vector<Source*>{counters.front()}, clock_, kTimelineBytes);
  channel_ = meter_->channels().front().get();
  PJ_TRY(sampler_, Sampler::start(*meter_, Seconds(0), SamplePace::kSeesTicks));
  gpu_knobs_ = gpu.knobs();
  place_.pipeline = options_.pipeline;
  place_.stage = options_.stage;
  place_.tensor = options_.tensor;
  place_.counter = channel_->info();
  for (const Knob* const knob : gpu_knobs_) {
    if (knob->info().name != "clock") continue;
    place_.lowest_mhz = knob->info().minimum;
    place_.highest_mhz = knob->info().maximum;
  }
  PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), machine));
  knobs_ = std::make_unique<KnobThread>(std::move(journal));
  return {};
}

RankAgent::~RankAgent() {
  if (!left_) (void)leave();
}

Seconds RankAgent::now() const { return Seconds(static_cast<double>(clock_.now().ns) * 1e-9); }

Outcome RankAgent::lose(const Error& error) {
  lost_ = true;
  (void)knobs_->finish();
  return tl::unexpected<Error>(error);
}

Outcome RankAgent::begin_iteration() {
  if (lost_ || left_) return {};
  if (in_iteration_)
    return Error::invalid_argument("an iteration begins within another one", "end it first");
  if (const auto failure = knobs_->failure()) return lose(*failure);
  ++iteration_;
  std::optional<IterationReport> report;
  if (has_report_) report = std::exchange(report_, {});
  has_report_ = false;
  Result<std::optional<RankOrders>> orders = link_->next(iteration_, orders_.epoch, report);
  if (!orders) return lose(orders.error());
  if (*orders) {
    if (const Outcome obeyed = obey(std::move(**orders)); !obeyed) return lose(obeyed.error());
  } else if (orders_.epoch < 0) {
    return lose(
        Error::internal("the plan server says 'as before' before it gave any orders").value());
  }
  report_ = {};
  report_.iteration = iteration_;
  report_.start.assign(instructions_, kNotRun);
  report_.took.assign(instructions_, kNotRun);
  in_iteration_ = true;
  if (instructions_ > 0) knobs_->want(&values_[orders_.knob.front()]);
  report_.begin = now();
  return {};
}

Outcome RankAgent::obey(RankOrders orders) {
  if (orders.knob.size() != instructions_)
    return Error::internal("orders for another number of instructions");
  std::vector<KnobValues> values;
  for (const Config& setting : orders.knobs) {
    PJ_TRY(KnobValues its, values_of(setting, gpu_knobs_));
    values.push_back(std::move(its));
  }
  knobs_->settle();
  before_ = std::exchange(values_, std::move(values));
  orders_ = std::move(orders);
  return {};
}

Outcome RankAgent::begin(std::string_view instruction, int microbatch, int chunk) {
  if (lost_ || left_) return {};
  if (!in_iteration_ || running_) {
    return Error::invalid_argument(fmt::format(
        "{} {} begins {}", instruction, microbatch,
        running_ ? "before the instruction that runs has ended" : "outside an iteration"));
  }
  const auto position = positions_.find({lower(instruction), microbatch, chunk});
  if (position == positions_.end()) {
    return Error::invalid_argument(
        fmt::format("{} {} of chunk {} is not in the order of stage {}", instruction, microbatch,
                    chunk, options_.stage),
        "schedule, microbatches and chunks must be those of the training");
  }
  if (options_.sync) PJ_CHECK(options_.sync());
  running_ = position->second;
  knobs_->want(&values_[orders_.knob[*running_]]);
  report_.start[*running_] = now();
  return {};
}

Outcome RankAgent::end() {
  if (lost_ || left_) return {};
  if (!running_) return Error::invalid_argument("no instruction runs that could end");
  if (options_.sync) PJ_CHECK(options_.sync());
  report_.took[*running_] = now() - report_.start[*running_];
  // What the next one needs is asked for while the stage waits for its input.
  if (const std::size_t next = *running_ + 1; next < instructions_)
    knobs_->want(&values_[orders_.knob[next]]);
  running_.reset();
  return {};
}

Outcome RankAgent::end_iteration() {
  if (lost_ || left_) return {};
  if (!in_iteration_ || running_) {
    return Error::invalid_argument(running_ ? "an iteration ends while an instruction runs"
                                            : "no iteration runs that could end");
  }
  in_iteration_ = false;
  report_.end = now();
  report_.ticks = new_ticks();
  has_report_ = true;
  return {};
}

std::vector<CounterTick> RankAgent::new_ticks() {
  const auto timeline = channel_->timeline();
  channel_->restart_timeline();
  std::vector<CounterTick> ticks;
  if (!timeline) return ticks;
  for (std::size_t i = 0; i < timeline->size(); ++i) {
    const Seconds at(static_cast<double>(timeline->time(i).ns) * 1e-9);
    const Joules energy(static_cast<double>(timeline->total_micro(i)) * 1e-6);
    if (last_sample_ && energy > last_sample_->energy && at > last_sample_->at) {
      const Seconds gap = at - last_sample_->at;
      ticks.push_back({at - gap / 2.0, gap, energy});
    }
    last_sample_ = CounterTick{at, Seconds(0), energy};
  }
  return ticks;
}

Outcome RankAgent::leave() {
  if (left_) return {};
  left_ = true;
  Outcome told;
  if (!lost_) {
    std::optional<IterationReport> report;
    if (has_report_) {
      const std::vector<CounterTick> later = new_ticks();
      report_.ticks.insert(report_.ticks.end(), later.begin(), later.end());
      report = report_;
    }
    told = link_->leave(report);
  }
  sampler_->stop();
  PJ_CHECK(knobs_->finish());
  return lost_ ? Outcome() : told;
}

}  // namespace perjoule

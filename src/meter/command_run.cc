#include "meter/command_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "device/cpu_facts.h"
#include "device/process_times.h"
#include "meter/gpu_watch.h"
#include "meter/process_tree.h"
#include "meter/signals.h"

namespace perjoule {
namespace {

Joules total_at(const Timeline& timeline, Instant when) {
  const std::size_t n = timeline.size();
  if (n == 0) return Joules(0);
  std::size_t low = 0;
  std::size_t high = n;
  while (low < high) {  // first sample after `when`
    const std::size_t middle = (low + high) / 2;
    if (timeline.time(middle) <= when) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const auto micro = [&](std::size_t i) {
    return static_cast<double>(timeline.total_micro(i)) * 1e-6;
  };
  if (low == 0) return Joules(micro(0));
  if (low == n) return Joules(micro(n - 1));
  const double span = (timeline.time(low) - timeline.time(low - 1)).value();
  const double share = span > 0 ? (when - timeline.time(low - 1)).value() / span : 1;
  return Joules(micro(low - 1) + (micro(low) - micro(low - 1)) * share);
}

/// While a program is being made to end: how often that is looked at, and how long a process that
/// was killed may take to go (it may hang in the kernel) before it is left.
constexpr Seconds kEndLook{0.02};
constexpr Seconds kKillPatience{3};

/// Everything one call of run_command holds open.
class CommandLoop {
 public:
  CommandLoop(Meter& meter, const CommandOptions& options, UnitCounter units)
      : meter_(meter),
        options_(options),
        clock_(meter.clock()),
        units_(std::move(units)),
        gpus_(options.shared_gpus, options.procfs, meter.clock()) {}

  Result<CommandResult> run() {
    PJ_TRY(SignalWatch signals, SignalWatch::start());
    signals_ = &signals;
    PJ_TRY(std::unique_ptr<Sampler> sampler, Sampler::start(meter_, options_.every, options_.pace));
    WindowOptions window_options;
    window_options.sources = options_.sources;
    window_options.tick_aligned = options_.tick_aligned;
    // The first read of a channel starts its timeline at the window's edge.
    PJ_TRY(Window window, meter_.begin("run", window_options));
    window_ = &window;
    for (const auto& channel : meter_.channels()) channel->sample();
    begin_ = clock_.now();
    const auto machine_before = machine_cpu();
    PJ_CHECK(start());
    gpus_.start(child_ ? child_->pid() : options_.pid.value_or(0));
    const Seconds tree_before = options_.pid ? tree_cpu(*options_.pid) : Seconds(0);

    loop();

    Instant ended = clock_.now();
    CommandResult result;
    result.measurement = child_ ? window.end_after_exit() : window.end();
    for (const auto& channel : meter_.channels()) channel->sample();
    sampler->stop();
    drain();
    PJ_CHECK(collect(result, ended));
    result.missed_ticks = sampler->missed_ticks();
    if (const auto machine_after = machine_cpu(); machine_before && machine_after) {
      result.cpu_of_machine = *machine_after - *machine_before;
    }
    if (options_.pid) result.cpu_of_program = last_tree_cpu_ - tree_before;
    return result;
  }

 private:
  Outcome start() {
    if (options_.spawn.arguments.empty()) {
      if (!options_.pid) return {};
      watched_pid_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, *options_.pid, 0)));
      if (!watched_pid_.valid())
        return Error::from_errno(errno, fmt::format("watching process {}", *options_.pid));
      return {};
    }
    SpawnOptions spawn = options_.spawn;
    int ends[2] = {-1, -1};
    if (options_.count_units && !options_.unit.empty())
      spawn.variables.emplace_back("PERJOULE_UNIT", options_.unit);
    // A pattern is counted instead: a program that does both would be counted twice.
    if (options_.count_units && !options_.unit_pattern) {
      if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return Error::from_errno(errno, "making the unit pipe");
      unit_pipe_ = FileDescriptor(ends[0]);
      spawn.keep_open.push_back(ends[1]);
      spawn.variables.emplace_back("PERJOULE_UNIT_FD", std::to_string(ends[1]));
    }
    spawn.capture_output = options_.unit_pattern.has_value();
    if (options_.budget || options_.duration) tree_.emplace(ProcessTree::adopt());
    auto child = ChildProcess::start(spawn);
    if (ends[1] >= 0) ::close(ends[1]);
    if (!child) return fail(child);
    child_ = std::move(*child);
    return {};
  }

  void loop() {
    Instant next_progress = begin_ + options_.progress_every;
    next_look_ = begin_ + options_.every;
    for (;;) {
      enum { kEnd, kSignal, kUnits, kOutput, kErrorOutput, kCount };
      std::array<pollfd, kCount> watched{};
      watched[kEnd] = {child_ ? child_->pidfd() : watched_pid_.get(), POLLIN, 0};
      watched[kSignal] = {signals_->fd(), POLLIN, 0};
      watched[kUnits] = {unit_pipe_.get(), POLLIN, 0};
      watched[kOutput] = {child_ ? child_->output() : -1, POLLIN, 0};
      watched[kErrorOutput] = {child_ ? child_->error_output() : -1, POLLIN, 0};
      if (ended_) watched[kEnd].fd = -1;
      if (output_closed_[0]) watched[kOutput].fd = -1;
      if (output_closed_[1]) watched[kErrorOutput].fd = -1;
      ::poll(watched.data(), watched.size(), milliseconds_until(next_progress));

      const double units_before = units_.count();
      if (watched[kUnits].revents != 0) take_units();
      if (watched[kOutput].revents != 0) pass_on(0);
      if (watched[kErrorOutput].revents != 0) pass_on(1);
      if (watched[kSignal].revents != 0) handle_signals();
      const Instant now = clock_.now();
      // The first unit is what a prediction waits for.
      const bool first_unit = options_.total_units && units_.count() > 0 && !first_unit_reported_;
      first_unit_reported_ |= first_unit;
      // Only what has just been counted: later on the totals hold a part of the next unit too.
      const bool unit_done = options_.progress_at_units && units_.count() > units_before &&
                             now - last_report_at() >= options_.every;
      if (now >= next_progress || first_unit || unit_done) {
        report(now, unit_done);
        next_progress = now + options_.progress_every;
      }
      if (options_.budget && now >= next_look_) look_at_budget(now);
      if (budget_reached_ || (options_.duration && now - begin_ >= *options_.duration)) stop();
      ended_ |= watched[kEnd].revents != 0;
      if (tree_) tree_->reap(child_->pid());
      if (all_ended(now)) return;
    }
  }

  /// The program's end is the end, unless we end it: then all below it have to go too.
  bool all_ended(Instant now) {
    if (!child_) return ended_ || stopped_;
    if (!ended_ || !stopped_ || !tree_) return ended_;
    left_running_ = tree_->running();
    return left_running_.empty() || now - stop_began_ > options_.grace + kKillPatience;
  }

  int milliseconds_until(Instant next) const {
    Instant until = next;
    if (options_.duration && !stopped_) until = std::min(until, begin_ + *options_.duration);
    if (options_.budget && !budget_reached_) until = std::min(until, next_look_);
    if (stopped_) until = std::min(until, clock_.now() + kEndLook);
    const double ms = (until - clock_.now()).value() * 1e3;
    return static_cast<int>(std::clamp(ms + 1, 0.0, 60'000.0));
  }

  void report(Instant now, bool at_unit) {
    if (options_.pid) last_tree_cpu_ = tree_cpu(*options_.pid);
    if (!options_.progress) return;
    RunProgress progress;
    progress.so_far = window_->so_far();
    const Energy energy = progress.so_far.total();
    progress.elapsed = now - begin_;
    progress.energy = energy;
    progress.power =
        (energy.joules - last_reported_) / std::max(now - last_report_at(), Seconds(1e-9));
    progress.units = units_.count();
    progress.at_unit = at_unit;
    if (options_.total_units && units_.count() > 0) {
      progress.whole =
          predict_total(unit_costs_so_far(energy.joules / progress.elapsed), *options_.total_units,
                        energy.expanded_uncertainty() / std::max(energy.joules, Joules(1e-9)));
    }
    last_reported_ = energy.joules;
    last_reported_at_ = now;
    options_.progress(progress);
  }
  /// Each finished unit's time, and its energy at the mean power: how the power went is known only
  /// afterwards.
  std::vector<UnitCost> unit_costs_so_far(Watts mean_power) const {
    std::vector<UnitCost> costs;
    Instant from = begin_;
    double count = 0;
    for (const UnitMark& mark : units_.marks()) {
      const double units = mark.count - count;
      if (units <= 0) continue;
      const Seconds each = (mark.at - from) / units;
      for (int i = 0; i < static_cast<int>(std::min(units, 1000.0)); ++i)
        costs.push_back({each, mean_power * each, 1});
      from = mark.at;
      count = mark.count;
    }
    return costs;
  }

  Instant last_report_at() const { return last_reported_at_.ns != 0 ? last_reported_at_ : begin_; }

  void handle_signals() {
    while (const auto arrived = signals_->next()) {
      if (arrived->signal != SIGUSR1 && arrived->signal != SIGUSR2) signal_ = arrived->signal;
      if (child_) {
        if (!arrived->from_terminal) child_->send_signal(arrived->signal);
      } else if (arrived->signal != SIGUSR1 && arrived->signal != SIGUSR2) {
        stopped_ = true;
      }
    }
  }

  void look_at_budget(Instant now) {
    const Joules left = *options_.budget - window_->so_far().total().joules;
    budget_reached_ |= left.value() <= 0;
    // What even the devices' greatest power could not use up by then need not be looked at. Which
    // of the sources are summed is not asked: too great a power only means another look.
    Watts greatest;
    for (const auto& channel : meter_.channels()) greatest += channel->info().max_power;
    Seconds pause = std::max(options_.every, Seconds(1e-3));
    if (greatest.value() > 0) pause = std::max(pause, left / greatest);
    next_look_ = now + std::min(pause, Seconds(60));
  }

  /// Asks the program and all below it to end, and after the grace makes them. Called again and
  /// again: who was started meanwhile is asked too.
  void stop() {
    const Instant now = clock_.now();
    const bool first = !std::exchange(stopped_, true);
    if (first) stop_began_ = now;
    if (!child_) return;
    const int signal = now - stop_began_ > options_.grace ? SIGKILL : SIGTERM;
    const bool reached = tree_ && tree_->signal(signal);
    // Where /proc cannot be read, the program itself is all there is.
    if (!reached && (first || signal == SIGKILL)) child_->send_signal(signal);
  }

  void take_units() {
    char buffer[4096];
    for (;;) {
      const ssize_t count = ::read(unit_pipe_.get(), buffer, sizeof(buffer));
      if (count > 0) {
        units_.take_report({buffer, static_cast<std::size_t>(count)}, clock_.now());
        continue;
      }
      if (count == 0) unit_pipe_.reset();
      return;
    }
  }

  void pass_on(std::size_t which) {
    char buffer[16384];
    const ssize_t count =
        ::read(which == 0 ? child_->output() : child_->error_output(), buffer, sizeof(buffer));
    if (count <= 0) {
      output_closed_[which] = true;
      return;
    }
    const auto size = static_cast<std::size_t>(count);
    const bool error = which == 1 || options_.spawn.output_to_error;
    (void)!::write(error ? STDERR_FILENO : STDOUT_FILENO, buffer, size);
    units_.take_output({buffer, size}, clock_.now());
  }

  /// What the program wrote just before its end.
  void drain() {
    if (unit_pipe_.valid()) take_units();
    pass_on_rest();
    units_.finish(clock_.now());
  }

  void pass_on_rest() {
    if (!child_) return;
    for (const std::size_t which : {0U, 1U}) {
      const int fd = which == 0 ? child_->output() : child_->error_output();
      if (fd < 0) continue;
      ::fcntl(fd, F_SETFL,
              ::fcntl(fd, F_GETFL) | O_NONBLOCK);  // a grandchild may hold it open for ever
      while (!output_closed_[which]) pass_on(which);
    }
  }

  Outcome collect(CommandResult& result, Instant ended) {
    if (child_) {
      PJ_TRY(result.end, child_->wait());
      result.cpu_of_program = result.end.user_time + result.end.system_time;
    }
    result.budget_reached = budget_reached_;
    result.stopped = stopped_;
    result.signal = signal_;
    result.left_running = left_running_;
    result.gpu_usage = gpus_.finish(ended);
    note_unwatched(result);
    if (tree_) tree_->reap(0);
    result.units = units_.count();
    result.bad_unit_lines = units_.bad_lines();
    for (std::string& note : units_.notes()) result.measurement.notes.push_back(std::move(note));
    for (const auto& channel : meter_.channels()) {
      const auto& wanted = options_.sources;
      const bool left_out = !wanted.empty() && std::find(wanted.begin(), wanted.end(),
                                                         channel->info().id) == wanted.end();
      if (left_out) continue;  // its joules are not in the window either
      if (auto timeline = channel->timeline())
        result.courses.push_back({channel->info(), std::move(timeline)});
    }
    if (is_flop(options_.unit) && !believe_flop(result)) return {};
    Instant from = begin_;
    double count = 0;
    for (const UnitMark& mark : units_.marks()) {
      const double units = mark.count - count;
      if (units <= 0) continue;
      const Instant to = std::min(mark.at, ended);
      result.unit_costs.push_back(
          {(to - from) / units, energy_between(result.courses, from, to) / units, units});
      from = to;
      count = mark.count;
    }
    return {};
  }

  static void note_unwatched(CommandResult& result) {
    std::string devices;
    for (const DeviceUsage& usage : result.gpu_usage) {
      if (usage.asked == 0) devices += (devices.empty() ? "" : ", ") + usage.device;
    }
    if (devices.empty()) return;
    result.measurement.notes.push_back("too short to look who held " + devices +
                                       ": the energy is of all who did");
  }

  /// Steps taken for FLOP would be nine orders of magnitude off, and nothing would show it: a count
  /// of mere lines is left out, and lines without a number among others are told of.
  bool believe_flop(CommandResult& result) const {
    const auto lines = [](std::size_t n) { return counted(static_cast<double>(n), "line"); };
    auto& notes = result.measurement.notes;
    if (units_.counts_only_reports()) {
      result.units = 0;
      notes.push_back(fmt::format(
          "the program counted {}, not FLOP: a report must hold its number of FLOP; the "
          "count is left out",
          lines(units_.reports())));
      return false;
    }
    if (units_.bare_reports() > 0) {
      notes.push_back(fmt::format("{} of {} held no number and counted as one FLOP",
                                  units_.bare_reports(), lines(units_.reports())));
    }
    return true;
  }

  std::optional<Seconds> machine_cpu() const {
    const auto text = read_file(options_.procfs + "/stat");
    if (!text) return std::nullopt;
    const auto times = parse_cpu_times(*text);
    return times ? std::optional<Seconds>(times->busy) : std::nullopt;
  }
  Seconds tree_cpu(std::int64_t pid) const {
    return tree_cpu_time(list_process_times(options_.procfs), pid);
  }

  Meter& meter_;
  const CommandOptions& options_;
  const Clock& clock_;
  UnitCounter units_;
  GpuWatch gpus_;
  SignalWatch* signals_ = nullptr;
  Window* window_ = nullptr;
  std::optional<ProcessTree> tree_;  ///< where we may have to end the program
  std::optional<ChildProcess> child_;
  FileDescriptor watched_pid_;
  FileDescriptor unit_pipe_;
  std::array<bool, 2> output_closed_{};
  Instant begin_;
  Instant stop_began_;
  Instant next_look_;  ///< at the budget
  Instant last_reported_at_;
  Joules last_reported_;
  Seconds last_tree_cpu_;
  std::vector<std::int64_t> left_running_;
  bool ended_ = false;
  bool budget_reached_ = false;
  bool first_unit_reported_ = false;
  bool stopped_ = false;
  int signal_ = 0;
};

}  // namespace

Joules energy_between(const std::vector<Course>& courses, Instant from, Instant to) {
  std::vector<const SourceInfo*> all;
  all.reserve(courses.size());
  for (const Course& course : courses) all.push_back(&course.info);
  Joules sum;
  for (const Course& course : courses) {
    if (!adds_up(course.info, all)) continue;
    sum += total_at(*course.timeline, to) - total_at(*course.timeline, from);
  }
  return sum;
}

Result<CommandResult> run_command(Meter& meter, const CommandOptions& options) {
  UnitCounter units;
  if (options.unit_pattern) {
    PJ_TRY(units, UnitCounter::matching(*options.unit_pattern));
  }
  return CommandLoop(meter, options, std::move(units)).run();
}

}  // namespace perjoule

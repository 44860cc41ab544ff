#include "serving/load/load_generator.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <memory_resource>
#include <utility>

#include "base/file.h"
#include "base/huge_pages.h"
#include "base/text.h"
#include "net/bearer_token.h"
#include "serving/load/load_stream.h"

namespace perjoule {
namespace {

constexpr Seconds kBeat = Seconds(0.005);
// Between two words of progress.
constexpr Seconds kProgress(0.25);
constexpr std::size_t kWarmUpConcurrency = 16;
/// Besides the connections: files, devices, the loop's own.
constexpr std::size_t kOtherDescriptors = 64;

/// The value that all but 1 - `share` of them do not exceed.
DelaySummary summary_of(std::vector<Seconds> delays) {
  if (delays.empty()) return {};
  std::sort(delays.begin(), delays.end());
  const auto at = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(delays.size()));
    return delays[static_cast<std::size_t>(rank) - 1];
  };
  return {at(0.5), at(0.99), delays.back()};
}

/// Has the system allow that many connections, or as many as it will.
Outcome allow_connections(std::size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t wanted = connections + kOtherDescriptors;
  if (limit.rlim_cur >= wanted) return {};
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return {};
  return Error::out_of_range(
      "more connections at a time than the system allows: " + std::to_string(connections) +
          " with " + std::to_string(limit.rlim_max) + " descriptors",
      "raise the limit: ulimit -n");
}

class Generator final : public LoadStreamOwner {
 public:
  Generator(const RequestSet& set, const LoadOptions& options, const Clock& clock)
      : set_(set), options_(options), clock_(clock) {}

  Result<LoadRun> run(const std::stop_token& stop) {
    PJ_CHECK(prepare());
    is_stopped_ = stop.stop_requested();
    const std::stop_callback stopping(stop, [this] { loop_->post([this] { end_now(); }); });
    if (options_.warm_up > 0) PJ_CHECK(warm_up());
    is_run_ = true;
    if (const auto* open = std::get_if<OpenLoad>(&options_.load)) {
      const auto& times = open->times;
      const auto end = options_.send_for
                           ? std::lower_bound(times.begin(), times.end(), *options_.send_for)
                           : times.end();
      begin_phase(options_.warm_up, static_cast<std::size_t>(end - times.begin()));
      begin_ = clock_.now();
      send_due();
    } else {
      const auto& closed = std::get<ClosedLoad>(options_.load);
      begin_phase(options_.warm_up, closed.requests);
      begin_ = clock_.now();
      fill(closed.concurrency);
    }
    beat_at(begin_ + kBeat);
    turn_until_ended();
    if (problem_) return tl::unexpected<Error>(*problem_);
    return result();
  }

  void stream_ended(LoadStream& stream) override {
    const std::size_t index = stream.index();
    const auto wait = stream.may_come_again_in();
    records_[index] = std::move(stream.record());
    streams_[index].reset();
    if (wait && !is_stopped_ && records_[index].retries < options_.most_retries) {
      loop_->call_at(clock_.now() + *wait, [this, index] { send_again(index); });
      return;
    }
    --open_;
    if (closes_the_loop()) send_next(records_[index].ended);
    if (is_over()) loop_->stop();
  }

 private:
  Outcome prepare() {
    std::size_t requests = 0;
    if (const auto* open = std::get_if<OpenLoad>(&options_.load)) {
      requests = open->times.size();
      if (!std::is_sorted(open->times.begin(), open->times.end()))
        return Error::invalid_argument("the load's times do not rise");
      // How many are open at a time, the server decides.
      (void)allow_connections(requests);
    } else {
      const auto& closed = std::get<ClosedLoad>(options_.load);
      requests = std::min(closed.requests, closed.concurrency);
      PJ_CHECK(allow_connections(requests));
    }
    if (requests == 0 || set_.requests.empty())
      return Error::invalid_argument("a load without a request");
    PJ_TRY(loop_, EventLoop::create(clock_));
    PJ_TRY(client_, HttpClient::create(*loop_, options_.url, options_.http));
    context_.reset(new LoadContext{*loop_, *client_, reader_, places_, options_, set_.is_streamed});
    fields_ = {{"Content-Type", "application/json"},
               {"Accept", set_.is_streamed ? "text/event-stream" : "application/json"},
               {"User-Agent", "perjoule"}};
    add_bearer_token(options_.token_variable, fields_);
    fields_.insert(fields_.end(), options_.fields.begin(), options_.fields.end());
    return {};
  }

  Outcome warm_up() {
    begin_phase(0, options_.warm_up);
    begin_ = clock_.now();
    fill(kWarmUpConcurrency);
    turn_until_ended();
    if (problem_) return tl::unexpected<Error>(*problem_);
    const bool any = std::any_of(records_.begin(), records_.end(),
                                 [](const RequestRecord& record) { return record.succeeded(); });
    if (any || is_stopped_) return {};
    return Error::unavailable("the server answered no request of the warm-up: " +
                              std::string(name_of(records_.front().failure)) + ": " +
                              records_.front().message);
  }

  void begin_phase(std::size_t first, std::size_t count) {
    first_ = first;
    count_ = count;
    next_ = 0;
    records_.clear();
    streams_.clear();
    send_delays_.clear();
  }

  bool closes_the_loop() const {
    return !is_run_ || std::holds_alternative<ClosedLoad>(options_.load);
  }
  bool may_send() const {
    if (is_stopped_ || problem_ || next_ >= count_) return false;
    // An open load's requests were chosen by their times.
    const bool is_timed = is_run_ && closes_the_loop() && options_.send_for;
    return !is_timed || clock_.now() < begin_ + *options_.send_for;
  }
  /// Nothing is open, and nothing will be.
  bool is_over() const { return open_ == 0 && !may_send(); }

  void turn_until_ended() {
    if (is_over()) return;
    loop_->run();
  }

  /// A closed load's first requests, whose places are all free now.
  void fill(std::size_t concurrency) {
    for (std::size_t i = 0; i < concurrency && may_send(); ++i) send_next(begin_);
  }

  /// An open load's requests whose time has come, and a timer for those whose has not.
  void send_due() {
    const std::vector<Seconds>& times = std::get<OpenLoad>(options_.load).times;
    while (may_send()) {
      const Instant scheduled = begin_ + times[next_];
      if (clock_.now() < scheduled) {
        loop_->call_at(scheduled, [this] { send_due(); });
        return;
      }
      send_next(scheduled);
    }
    if (is_over()) loop_->stop();
  }

  void send_next(Instant scheduled) {
    if (!may_send()) return;
    const std::size_t index = next_++;
    records_.emplace_back();
    streams_.emplace_back(nullptr, Away{allocator_});
    ++open_;
    send_delays_.push_back(clock_.now() - scheduled);
    open_stream(index, scheduled, 0);
    if (is_run_ && options_.drain && !problem_) cancel_after(clock_.now() + *options_.drain);
  }

  /// A request that was refused for now; its place was kept meanwhile.
  void send_again(std::size_t index) {
    if (!is_stopped_) open_stream(index, records_[index].scheduled, records_[index].retries + 1);
  }

  void open_stream(std::size_t index, Instant scheduled, int attempts) {
    const LoadRequest& request = set_.requests[(first_ + index) % set_.requests.size()];
    streams_[index].reset(allocator_.new_object<LoadStream>(*context_, index, *this));
    const Outcome opened = streams_[index]->open(
        {.method = "POST", .path = set_.path, .fields = fields_, .body = request.body}, scheduled,
        attempts);
    if (opened) return;
    // Of all requests alike, as of a token with a line's end in it.
    problem_ = opened.error();
    streams_[index].reset();
    --open_;
    end_now();
  }

  /// The drain begins anew with each request that is sent.
  void cancel_after(Instant deadline) {
    drained_at_ = deadline;
    if (is_drain_timed_) return;
    is_drain_timed_ = true;
    loop_->call_at(deadline, [this] {
      is_drain_timed_ = false;
      if (clock_.now() < drained_at_) return cancel_after(drained_at_);
      // More are to be sent, perhaps: whether they are shows by then.
      if (may_send()) return cancel_after(clock_.now() + *options_.drain);
      end_now();
    });
  }

  /// No failures of the server's: it would have answered.
  void end_now() {
    is_stopped_ = true;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i]) streams_[i]->give_up(Failure::kCancelledAtEnd, "the run had ended");
    }
    loop_->stop();
  }

  void beat_at(Instant when) {
    loop_->call_at(when, [this, when] {
      const Instant now = clock_.now();
      loop_delays_.push_back(now - when);
      if (options_.progress && now >= next_progress_) {
        next_progress_ = now + kProgress;
        options_.progress({now - begin_, next_, next_ - open_, count_});
      }
      beat_at(std::max(when + kBeat, now));
    });
  }

  LoadRun result() {
    LoadRun run;
    run.records = std::move(records_);
    run.begun = run.ended = begin_;
    for (const RequestRecord& record : run.records) run.ended = std::max(run.ended, record.ended);
    run.send_delay = summary_of(std::move(send_delays_));
    run.loop_delay = summary_of(std::move(loop_delays_));
    run.connections = client_->connections_made();
    const bool is_send = run.send_delay.p99 > options_.most_delay;
    if (is_send || run.loop_delay.p99 > options_.most_delay) {
      run.bottleneck = Error::unavailable(
                           std::string("the client was the bottleneck: one in a hundred of its ") +
                               (is_send ? "requests was sent late, by more than " +
                                              to_text(run.send_delay.p99, 3)
                                        : "looks at the clock was late, by more than " +
                                              to_text(run.loop_delay.p99, 3)) +
                               " of " + to_text(options_.most_delay, 3) + " that are allowed",
                           "give it a processor of its own, or send less from one process")
                           .value();
    }
    return run;
  }

  /// Gives a stream's place back.
  struct Away {
    std::pmr::polymorphic_allocator<> allocator;
    void operator()(LoadStream* stream) { allocator.delete_object(stream); }
  };

  const RequestSet& set_;
  const LoadOptions& options_;
  const Clock& clock_;
  StreamEventReader reader_;
  std::vector<HttpField> fields_;
  HugePagePool places_;  ///< of the streams
  std::pmr::polymorphic_allocator<> allocator_{&places_};
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<LoadContext> context_;
  // Of the phase: the warm-up, then the run.
  bool is_run_ = false;
  Instant begin_;
  std::size_t first_ = 0;  ///< in the set
  std::size_t count_ = 0;  ///< of requests, at most
  std::size_t next_ = 0;
  std::size_t open_ = 0;
  std::vector<RequestRecord> records_;
  std::vector<std::unique_ptr<LoadStream, Away>> streams_;  ///< null where they have ended
  std::vector<Seconds> send_delays_;
  std::vector<Seconds> loop_delays_;
  Instant next_progress_;
  Instant drained_at_;
  bool is_drain_timed_ = false;
  bool is_stopped_ = false;
  std::optional<Error> problem_;
};

}  // namespace

Result<LoadRun> generate_load(const RequestSet& set, const LoadOptions& options, const Clock& clock,
                              const std::stop_token& stop) {
  Generator generator(set, options, clock);
  return generator.run(stop);
}

}  // namespace perjoule

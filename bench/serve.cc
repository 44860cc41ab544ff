// What the daemon costs and carries: a scrape of 16 devices, and a thousand listeners beside two
// thousand readings a second.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "base/private_folder.h"
#include "base/text.h"
#include "device/plain_device.h"
#include "figure.h"
#include "net/event_loop.h"
#include "net/http_stream.h"
#include "server/daemon/daemon.h"
#include "server/node/exposition.h"

namespace pb = perjoule::bench;

namespace {

using namespace perjoule;

constexpr int kDevices = 16;
constexpr std::size_t kListeners = 1000;
constexpr double kRate = 2000;  // readings a second
constexpr std::size_t kReaders = 64;

/// A counter that runs at 300 W.
class SteadyCounter final : public Source {
 public:
  SteadyCounter(const std::string& id, const Clock& clock) : clock_(clock) {
    info_.id = info_.device = id;
    info_.backend = "bench";
    info_.scope = "board";
    info_.tick = Seconds(0.1);
  }
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    return {ErrorCode::kOk, static_cast<std::uint64_t>(clock_.now().ns / 1000 * 300)};
  }

 private:
  SourceInfo info_;
  const Clock& clock_;
};

class BusyDevice final : public PlainDevice {
 public:
  using PlainDevice::PlainDevice;
  DeviceState state() override {
    DeviceState state;
    state.power_limit = Watts(700);
    state.utilisation = 0.97;
    state.clock = Hertz(1.98e9);
    state.memory_clock = Hertz(2.619e9);
    state.temperature = 64;
    state.memory_used_bytes = 6e10;
    state.memory_total_bytes = 8.5e10;
    state.throttle_reasons = {"power cap"};
    return state;
  }
};

Inventory machine_of(int devices, const Clock& clock) {
  Inventory machine;
  for (int i = 0; i < devices; ++i) {
    DeviceInfo info;
    info.id = fmt::format("gpu:GPU-00000000-0000-0000-0000-{:012d}", i);
    info.kind = DeviceKind::kGpu;
    info.name = "NVIDIA H100 80GB HBM3";
    info.vendor = "NVIDIA";
    auto device = std::make_unique<BusyDevice>(info);
    device->add(std::make_unique<SteadyCounter>(info.id, clock));
    machine.devices.push_back(std::move(device));
  }
  return machine;
}

Outcome print_scrape(const Clock& clock) {
  Node::Options options;
  options.name = "bench";
  options.every = Seconds(3600);
  PJ_TRY(const auto node, Node::start(machine_of(kDevices, clock), options, clock));
  clock.sleep_until(clock.now() + Seconds(0.3));
  PJ_CHECK(node->look());
  constexpr int kScrapes = 2000;
  std::size_t bytes = 0;
  const double begin = pb::cpu_seconds();
  for (int i = 0; i < kScrapes; ++i) {
    MetricsPage page;
    add_node_metrics(page, *node);
    bytes = page.take().size();
  }
  const double each_ms = (pb::cpu_seconds() - begin) / kScrapes * 1e3;
  pb::print({.figure = "serve_scrape",
             .value = each_ms,
             .unit = "ms of CPU",
             .bar = "<= 1",
             .pass = each_ms <= 1,
             .detail = fmt::format("{} devices, {} bytes", kDevices, bytes)});
  return {};
}

/// The daemon, in a process of its own, at a Unix socket.
[[noreturn]] void be_daemon(const std::string& socket) {
  const RealClock clock;
  DaemonOptions options;
  options.version = "bench";
  options.node.name = "bench";
  options.socket = socket;
  options.server = {.request_time = Seconds(60), .threads = 2};
  auto daemon = Daemon::start(machine_of(kDevices, clock), std::move(options), clock);
  if (!daemon) {
    fmt::print(stderr, "{}\n", daemon.error().text());
    ::_exit(1);
  }
  for (;;) ::pause();
}

class Listener final : public HttpReader {
 public:
  void body(std::string_view piece, Instant) override {
    std::size_t at = 0;
    while ((at = piece.find("event: picture", at)) != std::string_view::npos) {
      ++heard;
      ++at;
    }
  }
  void ended(const HttpEnd&) override { has_ended = true; }
  std::size_t heard = 0;
  bool has_ended = false;
};

/// Asks when it is due, one request at a time.
class Asker final : public HttpReader {
 public:
  Asker(EventLoop& loop, HttpClient& client, std::vector<double>& latencies, std::size_t& failed)
      : loop_(loop), client_(client), latencies_(latencies), failed_(failed) {}
  void ask_from(Instant due, Seconds every, Instant until) {
    due_ = due;
    every_ = every;
    until_ = until;
    wait();
  }
  void head(const HttpHead& head, Instant) override { status_ = head.status; }
  void body(std::string_view, Instant) override {}
  void ended(const HttpEnd& end) override {
    if (end.outcome != HttpOutcome::kComplete || status_ != 200) {
      ++failed_;
    } else {
      latencies_.push_back((end.at - due_).value());
    }
    due_ = due_ + every_;
    if (due_ < until_) wait();
  }

 private:
  void wait() {
    (void)loop_.call_at(due_, [this] {
      status_ = 0;
      if (!client_.open({.path = "/api/v1/node/picture"}, *this)) ++failed_;
    });
  }
  EventLoop& loop_;
  HttpClient& client_;
  std::vector<double>& latencies_;
  std::size_t& failed_;
  Instant due_;
  Seconds every_;
  Instant until_;
  int status_ = 0;
};

long resident_kb(pid_t process) {
  const auto status = read_file(fmt::format("/proc/{}/status", process));
  const std::size_t at = status ? status->find("VmRSS:") : std::string::npos;
  if (at == std::string::npos) return 0;
  return static_cast<long>(
      leading_number(trim(std::string_view(*status).substr(at + 6))).value_or(0));
}

Outcome wait_for_socket(const std::string& socket, const Clock& clock) {
  for (int i = 0; i < 500; ++i) {
    if (path_exists(socket)) return {};
    clock.sleep_until(clock.now() + Seconds(0.02));
  }
  return Error::timeout("the daemon does not listen");
}

struct Load {
  double seconds = 60;
  std::vector<double> latencies = {};  ///< from when a request was due until it was answered, s
  std::size_t failed = 0;
  std::size_t least_heard = 0;
  std::size_t lost = 0;  ///< listeners
  long memory_kb = 0;    ///< of the daemon, a quarter through
  long memory_end_kb = 0;
};

Result<Load> put_under_load(const std::string& socket, pid_t process, const Clock& clock,
                            double seconds) {
  Load load{.seconds = seconds};
  PJ_TRY(const auto loop, EventLoop::create(clock));
  PJ_TRY(const HttpUrl url, HttpUrl::parse("unix:" + socket));
  PJ_TRY(const auto client, HttpClient::create(*loop, url, {}));
  std::vector<Listener> listeners(kListeners);
  for (Listener& one : listeners) {
    PJ_TRY(const auto stream, client->open({.path = "/api/v1/node/live"}, one));
    (void)stream;
  }
  const Instant begin = clock.now() + Seconds(2);
  const Instant end = begin + Seconds(seconds);
  std::vector<std::unique_ptr<Asker>> askers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    askers.push_back(std::make_unique<Asker>(*loop, *client, load.latencies, load.failed));
    askers.back()->ask_from(begin + Seconds(static_cast<double>(i) / kRate),
                            Seconds(kReaders / kRate), end);
  }
  (void)loop->call_at(begin + Seconds(seconds / 4), [&] { load.memory_kb = resident_kb(process); });
  (void)loop->call_at(end, [&] { load.memory_end_kb = resident_kb(process); });
  (void)loop->call_at(end + Seconds(1), [&] { loop->stop(); });
  loop->run();
  load.least_heard = listeners.front().heard;
  for (const Listener& one : listeners) {
    load.least_heard = std::min(load.least_heard, one.heard);
    if (one.has_ended) ++load.lost;
  }
  return load;
}

Outcome print_load(const Clock& clock) {
  const char* const asked = std::getenv("PERJOULE_BENCH_SECONDS");
  const double seconds = asked == nullptr ? 60 : std::atof(asked);
  PJ_TRY(const PrivateFolder folder, PrivateFolder::create("perjoule-bench"));
  const std::string socket = folder.path() + "/socket";
  const pid_t process = ::fork();
  if (process == 0) be_daemon(socket);
  const auto end_daemon = [&] {
    ::kill(process, SIGKILL);
    int status = 0;
    ::waitpid(process, &status, 0);
  };
  if (const Outcome listens = wait_for_socket(socket, clock); !listens) {
    end_daemon();
    return listens;
  }
  auto load = put_under_load(socket, process, clock, seconds);
  end_daemon();
  if (!load) return fail(load);
  std::sort(load->latencies.begin(), load->latencies.end());
  const std::size_t count = load->latencies.size();
  const double p99 = count == 0 ? NAN : load->latencies[count * 99 / 100] * 1e3;
  const bool whole = load->failed == 0 && load->lost == 0;
  pb::print({.figure = "serve_load",
             .value = p99,
             .unit = "ms, P99",
             .bar = "<= 50, no error",
             .pass = whole && p99 <= 50,
             .detail = fmt::format(
                 "{} answers in {:.0f} s, {} failed; {} listeners, {} lost, each heard "
                 "{} pictures at least",
                 count, load->seconds, load->failed, kListeners, load->lost, load->least_heard)});
  pb::print({.figure = "serve_memory",
             .value = static_cast<double>(load->memory_end_kb) / 1024,
             .unit = "MB with 1,000 listeners",
             .bar = "flat",
             .pass = load->memory_end_kb - load->memory_kb < 2 * 1024,
             .detail = fmt::format("{:.1f} MB a quarter through",
                                   static_cast<double>(load->memory_kb) / 1024)});
  return {};
}

}  // namespace

int main() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  const RealClock clock;
  const Outcome load = print_load(clock);  // forks: before there is a thread
  const Outcome scrape = print_scrape(clock);
  for (const Outcome& one : {load, scrape}) {
    if (!one) fmt::print(stderr, "{}\n", one.error().text());
  }
  return load && scrape ? 0 : 3;
}

// What a chunk of a stream costs from the socket to its record, beside a loop that does nothing but
// wait and receive, and how late its stamp is: 4,096 streams, 50,000 chunks a second in all.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "figure.h"
#include "serving/load_generator.h"
#include "stream_sender.h"

namespace pb = perjoule::bench;

namespace {

using namespace perjoule;

constexpr int kRounds = 3;
constexpr pb::StreamPlan kPlan;
constexpr double kChunks = static_cast<double>(kPlan.streams * kPlan.chunks_per_stream);

/// The CPU time of the thread that made it, while the sender sends.
class StreamingCost {
 public:
  explicit StreamingCost(const pb::StreamSender& sender) {
    ::pthread_getcpuclockid(::pthread_self(), &thread_clock_);
    watching_ = std::thread([this, &sender] {
      const RealClock clock;
      const auto wait_for = [&](int phase) {
        while (sender.phase() < phase) clock.sleep_until(clock.now() + Seconds(0.001));
      };
      wait_for(1);
      const double before = pb::cpu_seconds(thread_clock_);
      wait_for(2);
      spent_ = pb::cpu_seconds(thread_clock_) - before;
    });
  }
  /// Microseconds a chunk, once the last was sent.
  double each() {
    watching_.join();
    return spent_ / kChunks * 1e6;
  }

 private:
  clockid_t thread_clock_ = 0;
  double spent_ = 0;
  std::thread watching_;
};

RequestSet requests() {
  std::vector<Prompt> prompts(kPlan.streams);
  for (std::size_t i = 0; i < prompts.size(); ++i) prompts[i].text = fmt::format("\"p{}\"", i);
  return pb::must(make_requests(prompts, {.endpoint = Endpoint::kCompletions, .model = "m"}));
}

/// The least that a client of these streams can do: wait and receive.
double bare_round(const RequestSet& set) {
  const pb::StreamSender sender(kPlan);
  StreamingCost cost(sender);
  const FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(sender.port());
  std::vector<FileDescriptor> sockets;
  for (const LoadRequest& request : set.requests) {
    sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int socket = sockets.back().get();
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      pb::must(Outcome(Error::from_errno(errno, "connecting")));
    if (::send(socket, request.body->data(), request.body->size(), MSG_NOSIGNAL) <= 0)
      pb::must(Outcome(Error::from_errno(errno, "sending")));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = socket;
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, socket, &event);
  }
  std::vector<char> buffer(1U << 16U);
  std::array<epoll_event, 256> events{};
  while (sender.phase() < 2) {
    const int count = ::epoll_wait(epoll.get(), events.data(), 256, 100);
    for (int i = 0; i < count; ++i)
      (void)!::recv(events[static_cast<std::size_t>(i)].data.fd, buffer.data(), buffer.size(), 0);
  }
  return cost.each();
}

/// Ours; adds by how much each chunk's stamp is behind its sending.
double round_of_ours(const RequestSet& set, std::vector<double>& skews) {
  const pb::StreamSender sender(kPlan);
  StreamingCost cost(sender);
  LoadOptions options;
  options.url = pb::must(HttpUrl::parse(fmt::format("http://127.0.0.1:{}", sender.port())));
  options.load = ClosedLoad{kPlan.streams, kPlan.streams};
  options.token_variable.clear();
  const RealClock clock;
  const LoadRun run = pb::must(generate_load(set, options, clock));
  for (std::size_t stream = 0; stream < run.records.size(); ++stream) {
    const RequestRecord& record = run.records[stream];
    if (!record.succeeded() || record.response.chunks.size() != kPlan.chunks_per_stream)
      pb::must(Outcome(Error::internal("a stream is not whole: " + record.message)));
    for (std::size_t chunk = 0; chunk < kPlan.chunks_per_stream; ++chunk) {
      const Seconds skew = record.response.chunks[chunk].at - sender.sent_at(stream, chunk);
      skews.push_back(skew.value() * 1e3);
    }
  }
  return cost.each();
}

void allow_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main() {
  allow_descriptors();
  const RequestSet set = requests();
  std::vector<double> ratios;
  std::vector<double> skews;
  double bare_least = 1e9;
  double ours_least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double bare = bare_round(set);
    const double ours = round_of_ours(set, skews);
    ratios.push_back(ours / bare);
    bare_least = std::min(bare_least, bare);
    ours_least = std::min(ours_least, ours);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(skews.begin(), skews.end());
  const double ratio = ratios[ratios.size() / 2];
  const auto skew_at = [&](double share) {
    return skews[static_cast<std::size_t>(share * static_cast<double>(skews.size() - 1))];
  };
  pb::print(
      {.figure = "stream_path_cpu",
       .value = ratio,
       .unit = "times a bare loop",
       .bar = "<= 1.5",
       .pass = ratio <= 1.5,
       .detail = fmt::format(
           "median of {} pairs of rounds ({:.2f} to {:.2f}) of {} streams, {} chunks a second "
           "in all; least CPU time a chunk: bare {:.2f} us, ours {:.2f} us",
           kRounds, ratios.front(), ratios.back(), kPlan.streams, kPlan.chunks_per_second,
           bare_least, ours_least)});
  pb::print({.figure = "stream_path_skew",
             .value = skew_at(0.99),
             .unit = "ms, P99",
             .bar = "< 1",
             .pass = skew_at(0.99) < 1,
             .detail = fmt::format("from the sender's send(2) to the chunk's stamp, {} chunks in "
                                   "bursts of {}; median {:.3f} ms, largest {:.2f} ms",
                                   skews.size(), kPlan.chunks_per_second / 1000, skew_at(0.5),
                                   skews.back())});
}

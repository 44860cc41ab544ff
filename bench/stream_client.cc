#include "stream_client.h"

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
#include <cmath>
#include <thread>

#include "figure.h"
#include "serving/load/load_generator.h"

namespace perjoule::bench {
namespace {

/// The CPU time of the thread that made it, while the sender sends.
class StreamingCost {
 public:
  explicit StreamingCost(const StreamRound& round) : round_(round) {
    ::pthread_getcpuclockid(::pthread_self(), &thread_clock_);
    watching_ = std::thread([this] {
      round_.wait_for_next_phase();
      const double before = cpu_seconds(thread_clock_);
      round_.wait_for_next_phase();
      spent_ = cpu_seconds(thread_clock_) - before;
    });
  }
  /// Microseconds a chunk, once the last was sent.
  double each() {
    watching_.join();
    return spent_ / static_cast<double>(round_.plan().chunks()) * 1e6;
  }

 private:
  const StreamRound& round_;
  clockid_t thread_clock_ = 0;
  double spent_ = 0;
  std::thread watching_;
};

/// Which chunks of which stream have come, by the count of bytes.
class ByteCount {
 public:
  ByteCount(const StreamRound& round, StreamReading& reading)
      : round_(round), reading_(reading), streams_(round.plan().streams) {
    for (std::size_t i = 0; i < round.plan().chunks_per_stream; ++i)
      ends_.push_back(stream_head_bytes() + stream_bytes(i + 1));
    reading.skews_ms.reserve(round.plan().chunks());
  }
  void take(std::size_t stream, ssize_t bytes, Instant at) {
    Progress& progress = streams_[stream];
    if (bytes > 0) progress.bytes += static_cast<std::size_t>(bytes);
    for (; progress.chunks < ends_.size() && ends_[progress.chunks] <= progress.bytes;
         ++progress.chunks)
      reading_.skews_ms.push_back((at - round_.sent_at(stream, progress.chunks)).value() * 1e3);
  }

 private:
  struct Progress {
    std::size_t bytes = 0;
    std::size_t chunks = 0;
  };
  const StreamRound& round_;
  StreamReading& reading_;
  std::vector<std::size_t> ends_;
  std::vector<Progress> streams_;
};

}  // namespace

double StreamReading::skew_ms(double share) const {
  std::vector<double> sorted = skews_ms;
  const auto rank =
      static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(sorted.size())) - 1);
  std::nth_element(sorted.begin(), sorted.begin() + rank, sorted.end());
  return sorted[static_cast<std::size_t>(rank)];
}

void allow_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

RequestSet stream_requests(std::size_t streams) {
  std::vector<Prompt> prompts(streams);
  for (std::size_t i = 0; i < prompts.size(); ++i) prompts[i].text = fmt::format("\"p{}\"", i);
  return must(make_requests(prompts, {.endpoint = Endpoint::kCompletions, .model = "m"}));
}

StreamReading read_bare(const RequestSet& set, const StreamSender& sender, std::size_t round,
                        bool stamps) {
  const StreamRound& streams = sender.begin(round);
  StreamReading reading;
  ByteCount count_of(streams, reading);
  StreamingCost cost(streams);
  const RealClock clock;
  const FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(sender.port());
  std::vector<FileDescriptor> sockets;
  for (const LoadRequest& request : set.requests) {
    const std::size_t stream = sockets.size();
    sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int socket = sockets.back().get();
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      must(Outcome(Error::from_errno(errno, "connecting")));
    if (::send(socket, request.body->data(), request.body->size(), MSG_NOSIGNAL) <= 0)
      must(Outcome(Error::from_errno(errno, "sending")));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = stream << 32U | static_cast<std::uint32_t>(socket);
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, socket, &event);
  }
  std::vector<char> buffer(1U << 16U);
  std::array<epoll_event, 256> events{};
  while (streams.phase() < 2) {
    const int count = ::epoll_wait(epoll.get(), events.data(), 256, 100);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t key = events[static_cast<std::size_t>(i)].data.u64;
      const ssize_t got =
          ::recv(static_cast<int>(key & 0xffffffffU), buffer.data(), buffer.size(), 0);
      if (stamps) count_of.take(key >> 32U, got, clock.now());
    }
  }
  reading.cpu_us = cost.each();
  return reading;
}

StreamReading read_with_generator(const RequestSet& set, const StreamSender& sender,
                                  std::size_t round) {
  const StreamRound& streams = sender.begin(round);
  const StreamPlan& plan = streams.plan();
  StreamReading reading;
  StreamingCost cost(streams);
  LoadOptions options;
  options.url = must(HttpUrl::parse(fmt::format("http://127.0.0.1:{}", sender.port())));
  options.load = ClosedLoad{plan.streams, plan.streams};
  options.token_variable.clear();
  const RealClock clock;
  const LoadRun run = must(generate_load(set, options, clock));
  reading.cpu_us = cost.each();
  reading.skews_ms.reserve(plan.chunks());
  for (std::size_t stream = 0; stream < run.records.size(); ++stream) {
    const RequestRecord& record = run.records[stream];
    if (!record.succeeded() || record.response.chunks.size() != plan.chunks_per_stream)
      must(Outcome(Error::internal("a stream is not whole: " + record.message)));
    for (std::size_t chunk = 0; chunk < plan.chunks_per_stream; ++chunk) {
      const Seconds skew = record.response.chunks[chunk].at - streams.sent_at(stream, chunk);
      reading.skews_ms.push_back(skew.value() * 1e3);
    }
  }
  return reading;
}

}  // namespace perjoule::bench

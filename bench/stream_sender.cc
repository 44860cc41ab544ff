#include "stream_sender.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "figure.h"
#include "real_time.h"

namespace perjoule::bench {
namespace {

constexpr Seconds kTick = Seconds(0.001);
constexpr std::size_t kLine = 64;  ///< of the cache

const std::string kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

void send_all(int socket, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t sent = ::send(socket, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return;
    done += static_cast<std::size_t>(sent);
  }
}

std::string http_chunk(const std::string& text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

/// As vLLM writes it, with a running usage.
std::string event(std::size_t tokens) {
  return http_chunk(fmt::format(
      "data: {{\"id\":\"cmpl-6f0c2d7a9b8e4f15\",\"object\":\"text_completion\",\"created\":"
      "1764500000,\"model\":\"meta-llama/Llama-3.1-8B-Instruct\",\"choices\":[{{\"index\":0,"
      "\"text\":\" token\",\"logprobs\":null,\"finish_reason\":null,\"stop_reason\":null}}],"
      "\"usage\":{{\"prompt_tokens\":10,\"total_tokens\":{},\"completion_tokens\":{}}}}}\n\n",
      10 + tokens, tokens));
}

void stay_on(std::size_t processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  (void)::sched_setaffinity(0, sizeof(only), &only);
}

/// None where a client breaks off or is none.
std::vector<int> take_requests(int listening, const StreamPlan& plan) {
  std::vector<int> sockets(plan.streams, -1);
  std::string buffer(1U << 16U, '\0');
  for (std::size_t taken = 0; taken < plan.streams; ++taken) {
    const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    std::string request;
    std::size_t name = std::string::npos;
    const std::string_view before_number = "\"prompt\":\"p";
    // Some clients send head and body in two pieces.
    while (name == std::string::npos ||
           request.find('"', name + before_number.size()) == std::string::npos) {
      const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
      if (got <= 0) return {};
      request.append(buffer, 0, static_cast<std::size_t>(got));
      name = request.find(before_number);
    }
    const std::size_t stream =
        std::strtoul(request.c_str() + name + before_number.size(), nullptr, 10);
    if (stream >= plan.streams || sockets[stream] >= 0) return {};
    sockets[stream] = socket;
    send_all(socket, kHead);
  }
  return sockets;
}

void send_chunks(const StreamPlan& plan, const std::vector<int>& sockets, std::int64_t* stamps) {
  const RealClock clock;
  std::vector<std::string> events;
  for (std::size_t i = 0; i < plan.chunks_per_stream; ++i) events.push_back(event(i + 1));
  const Instant begin = clock.now();
  std::size_t sent = 0;
  for (int tick = 1; sent < plan.chunks(); ++tick) {
    const Seconds passed = tick * kTick;
    const auto due =
        static_cast<std::size_t>(static_cast<double>(plan.chunks_per_second) * passed.value());
    for (; sent < std::min(due, plan.chunks()); ++sent) {
      const std::size_t stream = sent % plan.streams;
      const std::size_t chunk = sent / plan.streams;
      stamps[stream * plan.chunks_per_stream + chunk] = clock.now().ns;
      send_all(sockets[stream], events[chunk]);
    }
    clock.sleep_until(begin + passed);
  }
}

}  // namespace

double StreamRound::rate() const {
  const Seconds took = sent_at(plan_.streams - 1, plan_.chunks_per_stream - 1) - sent_at(0, 0);
  return static_cast<double>(plan_.chunks() - 1) / took.value();
}

void StreamRound::wait_for_next_phase() const {
  char byte = 0;
  (void)!::read(phases_, &byte, 1);
}

std::size_t stream_head_bytes() { return kHead.size(); }

std::size_t stream_bytes(std::size_t chunks) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < chunks; ++i) bytes += event(i + 1).size();
  return bytes;
}

StreamSender::StreamSender(const std::vector<StreamPlan>& rounds) {
  size_t most = 0;
  for (const StreamPlan& plan : rounds) {
    size_ += kLine + plan.chunks() * sizeof(std::int64_t);
    most = std::max(most, plan.streams);
  }
  size_ += kLine * (rounds.size() + 1);
  memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory_ == MAP_FAILED) must(Outcome(Error::from_errno(errno, "mapping memory")));
  char* next = static_cast<char*>(memory_);
  next_ = new (next) std::atomic<std::size_t>(0);
  next += kLine;
  for (const StreamPlan& plan : rounds) {
    StreamRound& round = rounds_.emplace_back();
    round.plan_ = plan;
    round.phase_ = new (next) std::atomic<int>(0);
    round.stamps_ = reinterpret_cast<std::int64_t*>(next + kLine);
    next += kLine + (plan.chunks() * sizeof(std::int64_t) + kLine - 1) / kLine * kLine;
  }

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) must(Outcome(Error::from_errno(errno, "making a pipe")));
  phases_out_ = ends[0];
  phases_in_ = ends[1];
  for (StreamRound& round : rounds_) round.phases_ = phases_out_;
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listening, raw, size) != 0 || ::listen(listening, static_cast<int>(most)) != 0)
    must(Outcome(Error::from_errno(errno, "listening")));
  ::getsockname(listening, raw, &size);
  port_ = ntohs(address.sin_port);
  process_ = ::fork();
  if (process_ < 0) must(Outcome(Error::from_errno(errno, "forking")));
  if (process_ == 0) serve(listening);
  ::close(listening);
  ::close(std::exchange(phases_in_, -1));  // so that nobody waits for a sender that is gone
  if (::sysconf(_SC_NPROCESSORS_ONLN) > 1) stay_on(0);
}

StreamSender::~StreamSender() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  ::munmap(memory_, size_);
  ::close(phases_out_);
}

void StreamSender::next_phase(const StreamRound& round, int phase) const {
  *round.phase_ = phase;
  (void)!::write(phases_in_, "", 1);
}

void StreamSender::serve(int listening) const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::sysconf(_SC_NPROCESSORS_ONLN) > 1) stay_on(1);
  // What it sends is to come when it is due, whatever else the machine does.
  const RealTime before_others;
  const RealClock clock;
  const std::string end =
      http_chunk(
          "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n") +
      http_chunk("data: [DONE]\n\n") + "0\r\n\r\n";
  for (;;) {
    pollfd first{listening, POLLIN, 0};
    ::poll(&first, 1, -1);
    const StreamRound& round = rounds_[next_->load()];
    const std::vector<int> sockets = take_requests(listening, round.plan_);
    if (sockets.empty()) {
      next_phase(round, 2);
      ::_exit(1);
    }
    clock.sleep_until(clock.now() + round.plan_.quiet);
    next_phase(round, 1);
    send_chunks(round.plan_, sockets, round.stamps_);
    clock.sleep_until(clock.now() + Seconds(0.05));
    next_phase(round, 2);
    clock.sleep_until(clock.now() + round.plan_.quiet);
    for (const int socket : sockets) send_all(socket, end);
    for (const int socket : sockets) {
      // Until the other side has hung up: the one that does it first keeps the port for a minute.
      char byte = 0;
      while (::recv(socket, &byte, 1, 0) > 0) {
      }
      ::close(socket);
    }
  }
}

}  // namespace perjoule::bench

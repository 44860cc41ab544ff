#include "stream_sender.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
#include <vector>

#include "figure.h"

namespace perjoule::bench {
namespace {

constexpr Seconds kTick = Seconds(0.001);
/// Before the first chunk and behind the last one, so that what is measured between them is
/// streaming alone.
constexpr Seconds kQuiet = Seconds(0.3);

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

}  // namespace

StreamSender::StreamSender(const StreamPlan& plan) : plan_(plan) {
  size_ = sizeof(Shared) + plan.streams * plan.chunks_per_stream * sizeof(std::int64_t);
  void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) must(Outcome(Error::from_errno(errno, "mapping memory")));
  shared_ = new (memory) Shared;
  stamps_ = reinterpret_cast<std::int64_t*>(static_cast<char*>(memory) + sizeof(Shared));

  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listening, raw, size) != 0 || ::listen(listening, static_cast<int>(plan.streams)) != 0)
    must(Outcome(Error::from_errno(errno, "listening")));
  ::getsockname(listening, raw, &size);
  port_ = ntohs(address.sin_port);
  process_ = ::fork();
  if (process_ < 0) must(Outcome(Error::from_errno(errno, "forking")));
  if (process_ == 0) serve(listening);
  ::close(listening);
}

StreamSender::~StreamSender() {
  ::waitpid(process_, nullptr, 0);
  ::munmap(shared_, size_);
}

/// Nobody must wait for a sender that is gone.
void StreamSender::give_up() const {
  shared_->phase = 2;
  ::_exit(1);
}

void StreamSender::serve(int listening) const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<int> sockets(plan_.streams, -1);
  take_requests(listening, sockets.data());
  const RealClock clock;
  clock.sleep_until(clock.now() + kQuiet);
  shared_->phase = 1;
  send_chunks(sockets.data());
  clock.sleep_until(clock.now() + Seconds(0.05));
  shared_->phase = 2;
  clock.sleep_until(clock.now() + kQuiet);
  const std::string end =
      http_chunk(
          "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n") +
      http_chunk("data: [DONE]\n\n") + "0\r\n\r\n";
  for (const int socket : sockets) send_all(socket, end);
  for (const int socket : sockets) {
    // Until the other side has hung up: the one that does it first keeps the port for a minute.
    char byte = 0;
    while (::recv(socket, &byte, 1, 0) > 0) {
    }
  }
  ::_exit(0);
}

void StreamSender::take_requests(int listening, int* sockets) const {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string buffer(1U << 16U, '\0');
  for (std::size_t taken = 0; taken < plan_.streams; ++taken) {
    const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    // Small, and sent in one piece.
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    const std::string request(buffer, 0, got > 0 ? static_cast<std::size_t>(got) : 0);
    const std::string_view before_number = "\"prompt\":\"p";
    const std::size_t name = request.find(before_number);
    if (name == std::string::npos) give_up();
    const std::size_t stream =
        std::strtoul(request.c_str() + name + before_number.size(), nullptr, 10);
    if (stream >= plan_.streams || sockets[stream] >= 0) give_up();
    sockets[stream] = socket;
    send_all(socket, head);
  }
}

void StreamSender::send_chunks(const int* sockets) const {
  const RealClock clock;
  const std::size_t total = plan_.streams * plan_.chunks_per_stream;
  const Instant begin = clock.now();
  std::size_t sent = 0;
  for (int tick = 1; sent < total; ++tick) {
    const Seconds passed = tick * kTick;
    const auto due =
        static_cast<std::size_t>(static_cast<double>(plan_.chunks_per_second) * passed.value());
    for (; sent < std::min(due, total); ++sent) {
      const std::size_t stream = sent % plan_.streams;
      const std::size_t chunk = sent / plan_.streams;
      const std::string text = event(chunk + 1);
      stamps_[stream * plan_.chunks_per_stream + chunk] = clock.now().ns;
      send_all(sockets[stream], text);
    }
    clock.sleep_until(begin + passed);
  }
}

}  // namespace perjoule::bench

#include "net/line_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/signals_kept.h"

namespace perjoule {
namespace {

constexpr int kBacklog = 128;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Error::invalid_argument("no path of a socket (1 to 107 bytes): " + path,
                                   "choose a folder with a shorter name");
  }
  std::memcpy(&address.sun_path[0], path.data(), path.size());
  return address;
}

/// Who connected; 0 where the system does not say.
std::int64_t process_behind(const FileDescriptor& socket) {
  ucred who{};
  socklen_t size = sizeof(who);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid : 0;
}

Result<FileDescriptor> new_socket(int flags) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!socket.valid()) return Error::from_errno(errno, "making a socket");
  return socket;
}

/// Milliseconds until a deadline, as poll(2) takes them.
class Deadline {
 public:
  explicit Deadline(Seconds patience)
      : at_(std::chrono::steady_clock::now() + std::chrono::duration<double>(patience.value())) {}
  int left_ms() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
  }
  bool over() const { return now() >= at_; }

 private:
  using Moment = std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>>;
  static Moment now() { return std::chrono::steady_clock::now(); }
  Moment at_;
};

}  // namespace

Result<std::unique_ptr<LineServer>> LineServer::listen(const std::string& path,
                                                       LineService& service) {
  PJ_TRY(const sockaddr_un address, address_of(path));
  std::unique_ptr<LineServer> server(new LineServer(path, service));
  PJ_TRY(server->listening_, new_socket(SOCK_NONBLOCK));
  // Before bind(2), so that there is no moment at which others may connect.
  if (::fchmod(server->listening_.get(), S_IRUSR | S_IWUSR) != 0)
    return Error::from_errno(errno, "making the socket private");
  if (::bind(server->listening_.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)) != 0) {
    if (errno == EADDRINUSE) return Error::conflict("the socket exists: " + path);
    return Error::from_errno(errno, "making the socket " + path);
  }
  if (::listen(server->listening_.get(), kBacklog) != 0) {
    const int number = errno;
    ::unlink(path.c_str());
    return Error::from_errno(number, "listening at " + path);
  }
  server->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  if (!server->wake_.valid()) {
    const int number = errno;
    ::unlink(path.c_str());
    return Error::from_errno(number, "making an event");
  }
  const SignalsKept kept;
  server->thread_ = std::thread([raw = server.get()] { raw->serve(); });
  return server;
}

LineServer::~LineServer() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
  thread_.join();
  ::unlink(path_.c_str());
}

void LineServer::serve() {
  std::vector<pollfd> waiting;
  for (;;) {
    waiting.clear();
    waiting.push_back({wake_.get(), POLLIN, 0});
    waiting.push_back({listening_.get(), POLLIN, 0});
    for (const Client& client : clients_) {
      const int events = POLLIN | (client.outgoing.empty() ? 0 : POLLOUT);
      waiting.push_back({client.socket.get(), static_cast<short>(events), 0});
    }
    if (::poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (waiting[0].revents != 0) return;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const short events = waiting[i + 2].revents;
      if ((events & POLLOUT) != 0) send(clients_[i]);
      if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) receive(clients_[i]);
    }
    for (const Client& client : clients_) {
      if (client.gone) service_.left(client.number);
    }
    std::erase_if(clients_, [](const Client& client) { return client.gone; });
    if (waiting[1].revents != 0) accept_client();
  }
}

void LineServer::accept_client() {
  const int socket = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return;  // it gave up meanwhile
  Client client;
  client.number = next_number_++;
  client.socket = FileDescriptor(socket);
  service_.came(client.number, process_behind(client.socket));
  clients_.push_back(std::move(client));
}

void LineServer::receive(Client& client) {
  // Once a round: a client that never stops sending must not keep the others waiting.
  char buffer[1 << 16];
  const ssize_t got = ::recv(client.socket.get(), &buffer[0], sizeof(buffer), 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got <= 0) {
    client.gone = true;
    return;
  }
  client.incoming.add({&buffer[0], static_cast<std::size_t>(got)});
  while (const auto line = client.incoming.next()) {
    client.outgoing += service_.answer(client.number, *line);
    client.outgoing += '\n';
  }
  if (client.incoming.too_long()) client.gone = true;
  if (!client.outgoing.empty() && !client.gone) send(client);
}

void LineServer::send(Client& client) {
  while (!client.outgoing.empty()) {
    const ssize_t sent =
        ::send(client.socket.get(), client.outgoing.data(), client.outgoing.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      client.gone = client.gone || (errno != EAGAIN && errno != EWOULDBLOCK);
      return;
    }
    client.outgoing.erase(0, static_cast<std::size_t>(sent));
  }
}

Result<LineClient> LineClient::connect(const std::string& path, Seconds patience) {
  PJ_TRY(const sockaddr_un address, address_of(path));
  const Deadline deadline(patience);
  for (;;) {
    PJ_TRY(FileDescriptor socket, new_socket(0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
      return LineClient(std::move(socket));
    const int number = errno;
    const bool may_come = number == ENOENT || number == ECONNREFUSED || number == EAGAIN;
    if (!may_come) return Error::from_errno(number, "connecting to " + path);
    if (deadline.over()) {
      return Error::unavailable("nobody listens at " + path,
                                "is the process that made it still running?");
    }
    ::poll(nullptr, 0, std::min(20, deadline.left_ms()));
  }
}

Result<std::string> LineClient::ask(std::string_view line, Seconds patience) {
  return exchange(std::string(line) + '\n', patience);
}

Result<std::string> LineClient::exchange(std::string rest, Seconds patience) {
  if (!socket_.valid()) return Error::unavailable("the connection is closed");
  const auto give_up = [this](tl::unexpected<Error> error) {
    socket_.reset();
    return error;
  };
  const Deadline deadline(patience);
  for (;;) {
    if (rest.empty()) {
      if (const auto answer = incoming_.next()) return std::string(*answer);
      if (incoming_.too_long()) {
        return give_up(Error::data_loss("an answer of more bytes than any of ours has",
                                        "is it perjoule that listens there?"));
      }
    }
    const int events = POLLIN | (rest.empty() ? 0 : POLLOUT);
    pollfd waiting{socket_.get(), static_cast<short>(events), 0};
    const int ready = ::poll(&waiting, 1, deadline.left_ms());
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return give_up(Error::from_errno(errno, "waiting for an answer"));
    if (ready == 0) return give_up(Error::timeout("no answer came in time"));
    if ((waiting.revents & POLLOUT) != 0) {
      const ssize_t sent =
          ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) rest.erase(0, static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return give_up(Error::unavailable("the other side has ended the connection"));
    }
    if ((waiting.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      char buffer[1 << 16];
      const ssize_t got = ::recv(socket_.get(), &buffer[0], sizeof(buffer), MSG_DONTWAIT);
      if (got > 0) {
        incoming_.add({&buffer[0], static_cast<std::size_t>(got)});
      } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        return give_up(Error::unavailable("the other side has ended the connection"));
      }
    }
  }
}

}  // namespace perjoule

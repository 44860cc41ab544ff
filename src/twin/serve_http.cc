#include "twin/serve_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/signals_kept.h"
#include "twin/microhttpd.h"
#include "twin/serve_api.h"
#include "twin/wake_timer.h"

namespace perjoule::twin {
namespace {

constexpr std::size_t kMostBody = std::size_t{64} << 20;
constexpr std::size_t kPieceBuffer = 16 * 1024;  // a longer piece is several chunks
constexpr unsigned kMostConnections = 16'384;
constexpr int kPortTries = 16;

using Response = std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)>;

void set_head(MHD_Response& response, const HttpHead& head) {
  microhttpd().add_response_header(&response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                   head.content_type.c_str());
  if (head.retry_after_s > 0) {
    microhttpd().add_response_header(&response, MHD_HTTP_HEADER_RETRY_AFTER,
                                     std::to_string(head.retry_after_s).c_str());
  }
}

class Exchange final : public HttpExchange, public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(MHD_Connection* connection, WakeTimer& timer) : connection_(connection), timer_(timer) {}

  void answer(HttpHead head, std::string body) override {
    const std::lock_guard lock(mutex_);
    if (has_head_) return;
    head_ = std::move(head);
    has_head_ = true;
    whole_ = std::move(body);
    is_whole_ = ended_ = true;
    resume();
  }
  void begin_stream(HttpHead head) override {
    const std::lock_guard lock(mutex_);
    if (has_head_) return;
    head_ = std::move(head);
    has_head_ = true;
    resume();
  }
  void send(std::vector<WirePiece> pieces) override {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    for (WirePiece& piece : pieces) {
      last_due_ = std::max(last_due_, clock_.now()) + piece.pause;
      pieces_.push_back({std::move(piece.bytes), last_due_});
    }
    resume();
  }
  void end(bool broken) override {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    broken_ |= broken;
    resume();
  }

  /// The server's thread wants the answer's head: gives it, or waits for it.
  MHD_Result respond(MHD_Connection* connection) {
    {
      const std::lock_guard lock(mutex_);
      if (!has_head_) {
        if (ended_) return MHD_NO;
        suspend();
        return MHD_YES;
      }
    }
    // Head and whole body are written once, with has_head_. Not under our lock: the library holds
    // a response's own while it calls read_piece().
    const Response response(is_whole_ ? microhttpd().create_response_from_buffer(
                                            whole_.size(), whole_.data(), MHD_RESPMEM_MUST_COPY)
                                      : streamed(),
                            microhttpd().destroy_response);
    if (response == nullptr) return MHD_NO;
    set_head(*response, head_);
    return microhttpd().queue_response(connection, static_cast<unsigned>(head_.status),
                                       response.get());
  }

  void wake() {
    const std::lock_guard lock(mutex_);
    resume();
  }
  /// The server stops: nothing that waits is sent.
  void abandon() {
    const std::lock_guard lock(mutex_);
    pieces_.clear();
    ended_ = broken_ = true;
    resume();
  }
  /// The connection is no more.
  void leave() {
    const std::lock_guard lock(mutex_);
    connection_ = nullptr;
    suspended_ = false;
    ended_ = true;
    pieces_.clear();
  }

 private:
  struct TimedPiece {
    std::string bytes;
    Instant due;
  };

  MHD_Response* streamed() {
    auto* const self = new std::shared_ptr<Exchange>(shared_from_this());
    MHD_Response* const response = microhttpd().create_response_from_callback(
        MHD_SIZE_UNKNOWN, kPieceBuffer, &Exchange::read_piece, self, &Exchange::let_go);
    if (response == nullptr) delete self;
    return response;
  }
  static ssize_t read_piece(void* self, std::uint64_t, char* into, std::size_t most) {
    return (*static_cast<std::shared_ptr<Exchange>*>(self))->read(into, most);
  }
  static void let_go(void* self) { delete static_cast<std::shared_ptr<Exchange>*>(self); }

  ssize_t read(char* into, std::size_t most) {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) {
      if (ended_)
        return broken_ ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
      suspend();
      return 0;
    }
    TimedPiece& first = pieces_.front();
    if (first.due > clock_.now()) {
      timer_.call_at(first.due, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->wake();
      });
      suspend();
      return 0;
    }
    const std::size_t count = std::min(most, first.bytes.size() - sent_);
    std::copy_n(first.bytes.data() + sent_, count, into);
    sent_ += count;
    if (sent_ == first.bytes.size()) {
      pieces_.pop_front();
      sent_ = 0;
    }
    return static_cast<ssize_t>(count);
  }

  void suspend() {
    suspended_ = true;
    microhttpd().suspend_connection(connection_);
  }
  void resume() {
    if (suspended_ && connection_ != nullptr) microhttpd().resume_connection(connection_);
    suspended_ = false;
  }

  RealClock clock_;
  std::mutex mutex_;  // all below, and the connection's being suspended
  MHD_Connection* connection_;
  WakeTimer& timer_;
  HttpHead head_;
  bool has_head_ = false;
  bool is_whole_ = false;
  std::string whole_;
  std::deque<TimedPiece> pieces_;
  std::size_t sent_ = 0;  // of the first piece
  Instant last_due_;
  bool ended_ = false;
  bool broken_ = false;
  bool suspended_ = false;
};

/// A socket that listens on the loopback of that family; port 0 is any.
Result<FileDescriptor> listen_on(int family, int port) {
  FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Error::from_errno(errno, "cannot make a socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address = {};
  socklen_t length = 0;
  if (family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4 = {.sin_family = AF_INET,
          .sin_port = htons(static_cast<std::uint16_t>(port)),
          .sin_addr = {htonl(INADDR_LOOPBACK)},
          .sin_zero = {}};
    length = sizeof v4;
  } else {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    v6.sin6_addr = in6addr_loopback;
    length = sizeof v6;
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0) {
    const int number = errno;
    const std::string what = "cannot listen on port " + std::to_string(port);
    if (number == EADDRINUSE) {
      return Error::unavailable(what + ": it is in use", "choose another, or 0 for any");
    }
    return Error::from_errno(number, what);
  }
  return fd;
}

int port_of(const FileDescriptor& socket) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.sin_port);
}

struct Listeners {
  FileDescriptor v4;
  FileDescriptor v6;  ///< not valid on a machine without ::1
  int port = 0;
};

/// Both addresses on one port. Any port that is free on one may be taken on the other.
Result<Listeners> listen_on_both(int port) {
  const bool has_ipv6 = listen_on(AF_INET6, 0).has_value();
  for (int left = kPortTries;; --left) {
    Listeners both;
    PJ_TRY(both.v4, listen_on(AF_INET, port));
    both.port = port_of(both.v4);
    if (!has_ipv6) return both;
    auto v6 = listen_on(AF_INET6, both.port);
    if (v6) {
      both.v6 = std::move(*v6);
      return both;
    }
    if (port != 0 || left == 0) return fail(v6);
  }
}

class Server final : public HttpServer {
 public:
  explicit Server(HttpHandler& handler) : handler_(handler) {}

  Outcome listen(Listeners listeners) {
    PJ_CHECK(open_microhttpd());
    port_ = listeners.port;
    has_ipv6_ = listeners.v6.valid();
    const SignalsKept kept;
    PJ_CHECK(serve(std::move(listeners.v4)));
    return has_ipv6_ ? serve(std::move(listeners.v6)) : Outcome();
  }

  ~Server() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      for (const auto& exchange : exchanges_) exchange->abandon();
    }
    for (MHD_Daemon* const daemon : daemons_) microhttpd().stop_daemon(daemon);
  }

  int port() const override { return port_; }
  bool has_ipv6() const override { return has_ipv6_; }

 private:
  /// What the library keeps for us of each request.
  struct Context {
    HttpRequest request;
    std::shared_ptr<Exchange> exchange;
    bool handled = false;
    bool is_too_long = false;
  };

  Outcome serve(FileDescriptor socket) {
    MHD_Daemon* const daemon = microhttpd().start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr,
        &Server::access, this, MHD_OPTION_LISTEN_SOCKET, socket.get(), MHD_OPTION_NOTIFY_COMPLETED,
        &Server::completed, this, MHD_OPTION_CONNECTION_LIMIT, kMostConnections, MHD_OPTION_END);
    if (daemon == nullptr) return Error::unavailable("the HTTP server does not start");
    socket.release();  // the daemon's from now on
    daemons_.push_back(daemon);
    return {};
  }

  static MHD_Result access(void* self, MHD_Connection* connection, const char* url,
                           const char* method, const char*, const char* data, std::size_t* size,
                           void** context) {
    return static_cast<Server*>(self)->on_access(connection, url, method, data, *size, *context);
  }

  MHD_Result on_access(MHD_Connection* connection, const char* url, const char* method,
                       const char* data, std::size_t& size, void*& kept) {
    if (kept == nullptr) {
      kept = begin(connection, url, method).release();
      return MHD_YES;
    }
    auto& context = *static_cast<Context*>(kept);
    if (size > 0) {
      context.is_too_long |= context.request.body.size() + size > kMostBody;
      if (!context.is_too_long) context.request.body.append(data, size);
      size = 0;
      return MHD_YES;
    }
    if (!std::exchange(context.handled, true)) handle(context);
    return context.exchange->respond(connection);
  }

  std::unique_ptr<Context> begin(MHD_Connection* connection, const char* url, const char* method) {
    auto context = std::make_unique<Context>();
    context->request.method = method;
    context->request.path = url;
    const char* const key = microhttpd().lookup_connection_value(connection, MHD_HEADER_KIND,
                                                                 MHD_HTTP_HEADER_AUTHORIZATION);
    if (key != nullptr) context->request.authorization = key;
    context->exchange = std::make_shared<Exchange>(connection, timer_);
    const std::lock_guard lock(mutex_);
    exchanges_.insert(context->exchange);
    if (stopping_) context->exchange->abandon();
    return context;
  }

  void handle(Context& context) {
    if (!context.is_too_long) return handler_.handle(context.request, context.exchange);
    context.exchange->answer(
        {.status = 413},
        error_body({.status = 413, .message = "the request's body is longer than 64 MiB"}));
  }

  static void completed(void* self, MHD_Connection*, void** kept, MHD_RequestTerminationCode) {
    static_cast<Server*>(self)->on_completed(*kept);
  }

  void on_completed(void*& kept) {
    const std::unique_ptr<Context> context(static_cast<Context*>(std::exchange(kept, nullptr)));
    if (context == nullptr) return;
    context->exchange->leave();
    {
      const std::lock_guard lock(mutex_);
      exchanges_.erase(context->exchange);
    }
    handler_.ended(*context->exchange);
  }

  HttpHandler& handler_;
  WakeTimer timer_;
  int port_ = 0;
  bool has_ipv6_ = false;
  std::vector<MHD_Daemon*> daemons_;
  std::mutex mutex_;  // the two below
  std::set<std::shared_ptr<Exchange>> exchanges_;
  bool stopping_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(int port, HttpHandler& handler) {
  PJ_TRY(Listeners listeners, listen_on_both(port));
  auto server = std::make_unique<Server>(handler);
  PJ_CHECK(server->listen(std::move(listeners)));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace perjoule::twin

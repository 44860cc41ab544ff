#include "net/http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/signals_kept.h"
#include "base/text.h"
#include "net/microhttpd.h"
#include "net/served_exchange.h"

namespace perjoule {
namespace {

std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port));
}

HttpPeer peer_of(int socket, const std::string& listener) {
  HttpPeer peer{.listener = listener, .address = {}, .process = {}};
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return peer;
  peer.address = address_text(address);
  ucred process = {};
  length = sizeof process;
  if (address.ss_family == AF_UNIX &&
      ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &process, &length) == 0) {
    peer.process = {process.pid, process.uid, process.gid};
  }
  return peer;
}

MHD_Result add_field(void* fields, MHD_ValueKind, const char* name, const char* value) {
  static_cast<std::vector<HttpField>*>(fields)->push_back({name, value == nullptr ? "" : value});
  return MHD_YES;
}

class Server;

/// A socket that is listened at, as the library's callbacks find it.
struct Listening {
  Server* server = nullptr;
  std::string name;
  MHD_Daemon* daemon = nullptr;
};

class Server final : public HttpServer {
 public:
  Server(ServerHandler& handler, const ServerLimits& limits) : handler_(handler), limits_(limits) {
    const SignalsKept kept;
    watcher_ = std::jthread([this](const std::stop_token& stop) { hang_up_on_the_slow(stop); });
  }

  ~Server() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      for (const auto& exchange : exchanges_) exchange->abandon();
    }
    for (const auto& listening : listening_) microhttpd().stop_daemon(listening->daemon);
  }

  Outcome serve(HttpListener listener) override {
    auto listening = std::make_unique<Listening>();
    listening->server = this;
    listening->name = std::move(listener.name);
    std::vector<MHD_OptionItem> options = {
        {MHD_OPTION_CONNECTION_LIMIT, limits_.connections, nullptr},
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, limits_.connections_of_an_address, nullptr},
        {MHD_OPTION_CONNECTION_TIMEOUT, std::lround(limits_.silence.value()), nullptr}};
    if (limits_.threads > 1) {
      options.push_back({MHD_OPTION_THREAD_POOL_SIZE, limits_.threads, nullptr});
    }
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (listener.tls) {
      flags |= MHD_USE_TLS;
      options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, listener.tls->certificate.data()});
      options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, listener.tls->key.data()});
    }
    options.push_back({MHD_OPTION_END, 0, nullptr});
    const SignalsKept kept;
    listening->daemon = microhttpd().start_daemon(
        flags, 0, nullptr, nullptr, &Server::access, listening.get(), MHD_OPTION_LISTEN_SOCKET,
        listener.socket.get(), MHD_OPTION_NOTIFY_COMPLETED, &Server::completed, this,
        MHD_OPTION_NOTIFY_CONNECTION, &Server::connected, listening.get(),
        MHD_OPTION_URI_LOG_CALLBACK, &Server::targeted, listening.get(), MHD_OPTION_ARRAY,
        options.data(), MHD_OPTION_END);
    if (listening->daemon == nullptr) {
      return Error::unavailable(
          listener.tls ? "the HTTPS server does not start" : "the HTTP server does not start",
          listener.tls ? "see whether certificate and key belong together" : "");
    }
    listener.socket.release();  // the daemon's from now on
    listening_.push_back(std::move(listening));
    return {};
  }

  void stop_listening() override {
    for (const auto& listening : listening_) {
      FileDescriptor socket(microhttpd().quiesce_daemon(listening->daemon));
    }
  }

  std::size_t exchanges() const override {
    const std::lock_guard lock(mutex_);
    return exchanges_.size();
  }

 private:
  struct Connection {
    int socket = -1;
    HttpPeer peer;
    bool is_answered = false;  ///< its request is whole: it waits for us, not we for it
    Instant waits_since;
  };
  /// What the library keeps for us of each request.
  struct Context {
    ServerRequest request;
    std::shared_ptr<ServedExchange> exchange;
    bool begun = false;
    bool handled = false;
    bool is_too_long = false;
    std::size_t most_body = 0;
  };

  static void* targeted(void* listening, const char* target, MHD_Connection* connection) {
    return static_cast<Listening*>(listening)->server->begin(connection, target).release();
  }
  static MHD_Result access(void* listening, MHD_Connection* connection, const char*,
                           const char* method, const char*, const char* data, std::size_t* size,
                           void** context) {
    if (*context == nullptr) return MHD_NO;
    return static_cast<Listening*>(listening)->server->on_access(
        connection, method, {data, *size}, *size, *static_cast<Context*>(*context));
  }
  static void completed(void* self, MHD_Connection* connection, void** kept,
                        MHD_RequestTerminationCode) {
    static_cast<Server*>(self)->on_completed(connection, *kept);
  }
  static void connected(void* listening, MHD_Connection* connection, void**,
                        MHD_ConnectionNotificationCode code) {
    auto& at = *static_cast<Listening*>(listening);
    at.server->on_connection(connection, at.name, code);
  }

  void on_connection(MHD_Connection* connection, const std::string& listener,
                     MHD_ConnectionNotificationCode code) {
    const std::lock_guard lock(mutex_);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      connections_.erase(connection);
      return;
    }
    const auto* const info =
        microhttpd().get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    const int socket = info->connect_fd;
    connections_[connection] = {.socket = socket,
                                .peer = peer_of(socket, listener),
                                .is_answered = false,
                                .waits_since = clock_.now()};
  }

  std::unique_ptr<Context> begin(MHD_Connection* connection, const char* target) {
    auto context = std::make_unique<Context>();
    context->request.target = target;
    context->exchange = std::make_shared<ServedExchange>(connection);
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(connection);
    if (found != connections_.end()) context->request.peer = found->second.peer;
    exchanges_.insert(context->exchange);
    if (stopping_) context->exchange->abandon();
    return context;
  }

  MHD_Result on_access(MHD_Connection* connection, const char* method, std::string_view data,
                       std::size_t& size, Context& context) {
    if (!std::exchange(context.begun, true)) {
      context.request.method = method;
      microhttpd().get_connection_values(connection, MHD_HEADER_KIND, &add_field,
                                         &context.request.fields);
      const std::size_t most = handler_.most_body(context.request);
      context.most_body = most == 0 ? limits_.body_bytes : most;
      if (!tells_too_long_body(context)) return MHD_YES;
      context.is_too_long = true;
    } else if (size > 0) {
      std::string& body = context.request.body;
      context.is_too_long |= body.size() + data.size() > context.most_body;
      if (!context.is_too_long) body.append(data);
      size = 0;
      return MHD_YES;
    }
    if (!std::exchange(context.handled, true)) handle(connection, context);
    return context.exchange->respond(connection);
  }

  /// Such a body is not even begun to be read.
  static bool tells_too_long_body(const Context& context) {
    const auto length = parse_integer(context.request.field(MHD_HTTP_HEADER_CONTENT_LENGTH));
    return length && *length > static_cast<std::int64_t>(context.most_body);
  }

  void handle(MHD_Connection* connection, Context& context) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = connections_.find(connection);
      if (found != connections_.end()) found->second.is_answered = true;
    }
    if (!context.is_too_long) return handler_.handle(context.request, context.exchange);
    context.exchange->answer(
        {.status = 413}, handler_.refusal(413, "the request's body is longer than " +
                                                   std::to_string(context.most_body) + " bytes"));
  }

  void on_completed(MHD_Connection* connection, void*& kept) {
    const std::unique_ptr<Context> context(static_cast<Context*>(std::exchange(kept, nullptr)));
    if (context == nullptr) return;
    context->exchange->leave();
    {
      const std::lock_guard lock(mutex_);
      exchanges_.erase(context->exchange);
      const auto found = connections_.find(connection);
      if (found != connections_.end()) {
        found->second.is_answered = false;
        found->second.waits_since = clock_.now();
      }
    }
    handler_.ended(*context->exchange);
  }

  void hang_up_on_the_slow(const std::stop_token& stop) {
    const auto look_every =
        std::chrono::duration<double>(std::clamp(limits_.request_time.value() / 4, 0.01, 1.0));
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      looks_.wait_for(lock, stop, look_every, [] { return false; });
      const Instant now = clock_.now();
      for (const auto& [connection, one] : connections_) {
        if (!one.is_answered && now - one.waits_since > limits_.request_time) {
          // While it is listed the library has not closed the descriptor.
          ::shutdown(one.socket, SHUT_RDWR);
        }
      }
    }
  }

  RealClock clock_;
  ServerHandler& handler_;
  const ServerLimits limits_;
  std::vector<std::unique_ptr<Listening>> listening_;
  mutable std::mutex mutex_;  // all below
  std::map<const MHD_Connection*, Connection> connections_;
  std::set<std::shared_ptr<ServedExchange>> exchanges_;
  bool stopping_ = false;
  std::condition_variable_any looks_;
  std::jthread watcher_;  // last: it uses all else
};

}  // namespace

SharedText shared_text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

std::string_view ServerRequest::field(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const HttpField& field) {
    return equals_ignoring_case(field.name, name);
  });
  return found == fields.end() ? std::string_view() : std::string_view(found->value);
}

Result<std::unique_ptr<HttpServer>> HttpServer::create(ServerHandler& handler,
                                                       const ServerLimits& limits) {
  PJ_CHECK(open_microhttpd());
  return std::unique_ptr<HttpServer>(std::make_unique<Server>(handler, limits));
}

}  // namespace perjoule

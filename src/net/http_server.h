// An HTTP/1.1 server over any listening sockets. What is answered is somebody else's.
//
//   PJ_TRY(const auto server, HttpServer::create(handler, {}));
//   PJ_CHECK(server->serve({.socket = std::move(*socket)}));         // as many as wanted
//
// libmicrohttpd serves each listener from threads with epoll. A request may be answered at once, or
// later from any thread; one that waits, and a stream that has nothing to send, is suspended, so
// that thousands of them cost nothing. Every piece of a stream is one HTTP chunk, sent at once and
// alone.
//
// A client that has not sent a whole request within `request_time` of connecting, or of its last
// answer, is hung up on, however busily it sends: a slow one holds no place for long.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/units.h"
#include "net/http_head.h"

namespace perjoule {

/// Who asks, as the connection tells it.
struct HttpPeer {
  struct Process {
    std::int64_t pid = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
  };
  std::string listener = {};            ///< the name its listener was given
  std::string address = {};             ///< "127.0.0.1:40312"; empty on a Unix socket
  std::optional<Process> process = {};  ///< of a Unix socket: who connected
};

struct ServerRequest {
  std::string method = {};
  std::string target = {};  ///< as it came: "/runs?last=3"
  std::vector<HttpField> fields = {};
  std::string body = {};
  HttpPeer peer = {};

  /// The target without its query.
  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
  /// The first header field of that name, in any case; empty where there is none.
  std::string_view field(std::string_view name) const;
};

/// What an answer begins with.
struct ServerHead {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<HttpField> fields = {};
};

/// A piece of a stream, which many streams may share.
using SharedText = std::shared_ptr<const std::string>;
SharedText shared_text(std::string text);

/// The answer to one request, from any thread. After the client has gone nothing has any effect.
class ServerExchange {
 public:
  virtual ~ServerExchange() = default;
  /// All of it at once.
  virtual void answer(ServerHead head, std::string body) = 0;
  /// A body in pieces: send() as often as wanted, then end().
  virtual void begin_stream(ServerHead head) = 0;
  /// Answers how many bytes the client has yet to take, these included: how far it lags.
  virtual std::size_t send(SharedText piece) = 0;
  /// Broken: the connection is closed without HTTP's own end.
  virtual void end(bool broken) = 0;
};

class ServerHandler {
 public:
  virtual ~ServerHandler() = default;
  /// May answer now or later. Called by the server's threads, several at a time.
  virtual void handle(const ServerRequest& request, std::shared_ptr<ServerExchange> exchange) = 0;
  /// The exchange is over: as it should be, or because the client has closed the connection.
  virtual void ended(const ServerExchange& exchange) = 0;
  /// The longest body that this request may have, from all but its body; 0: as ServerLimits says.
  virtual std::size_t most_body(const ServerRequest& /*request*/) const { return 0; }
  /// The body of an answer that the server itself gives: a request whose body is too long.
  virtual std::string refusal(int status, std::string_view why) const = 0;
};

struct ServerLimits {
  std::size_t body_bytes = std::size_t{64} << 20U;
  Seconds request_time = Seconds(30);
  Seconds silence = Seconds(120);          ///< that a client may take nothing of an answer; 0: any
  unsigned connections = 16'384;           ///< of each listener
  unsigned connections_of_an_address = 0;  ///< 0: as many as all
  unsigned threads = 1;                    ///< of each listener
};

/// What a client is sure of when it speaks TLS with us: PEM texts.
struct ServerIdentity {
  std::string certificate;  ///< with those that it is signed by behind it
  std::string key;
};

struct HttpListener {
  FileDescriptor socket;
  std::string name = {};  ///< what its requests say they came by
  std::optional<ServerIdentity> tls = {};
};

class HttpServer {
 public:
  /// The handler must outlive it. unavailable where libmicrohttpd is not installed.
  static Result<std::unique_ptr<HttpServer>> create(ServerHandler& handler,
                                                    const ServerLimits& limits);
  /// Closes every connection.
  virtual ~HttpServer() = default;

  /// Serves a listening socket from now on.
  virtual Outcome serve(HttpListener listener) = 0;
  /// Takes no more connections; those there are go on.
  virtual void stop_listening() = 0;
  /// Requests that are not over.
  virtual std::size_t exchanges() const = 0;
};

}  // namespace perjoule

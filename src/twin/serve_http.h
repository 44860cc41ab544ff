// HTTP for the simulated inference server: requests in, answers and streams out, on 127.0.0.1 and
// ::1 alone. What they say is somebody else's (serve_loop.h).
//
//   PJ_TRY(const auto server, HttpServer::start(/*port=*/0, handler));   // 0: any that is free
//   server->port();
//
// net's server with pauses: a piece of a stream may be sent some time after the one before it, as
// servers that stall do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "twin/serve_response.h"

namespace perjoule::twin {

struct HttpRequest {
  std::string method;
  std::string path;           ///< without what follows "?"
  std::string authorization;  ///< the header, empty where there is none
  std::string body;
};

struct HttpHead {
  int status = 200;
  std::string content_type = "application/json";
  int retry_after_s = 0;  ///< the header, where above 0
};

/// The answer to one request, from any thread. After the client has gone nothing has any effect.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  /// All of it at once.
  virtual void answer(HttpHead head, std::string body) = 0;
  /// A body in pieces: send() as often as wanted, then end().
  virtual void begin_stream(HttpHead head) = 0;
  virtual void send(std::vector<WirePiece> pieces) = 0;
  /// Broken: the connection is closed without HTTP's own end.
  virtual void end(bool broken) = 0;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// May answer now or later. Called by the server's threads, one at a time for each address.
  virtual void handle(const HttpRequest& request, std::shared_ptr<HttpExchange> exchange) = 0;
  /// The exchange is over: as it should be, or because the client has closed the connection.
  virtual void ended(const HttpExchange& exchange) = 0;
};

class HttpServer {
 public:
  /// Serves from now on; the handler must outlive the server. unavailable for a port that is taken,
  /// permission_denied for one that only root may have.
  static Result<std::unique_ptr<HttpServer>> start(int port, HttpHandler& handler);
  /// Closes every connection.
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  /// Whether ::1 is served, too: some machines do not have it.
  virtual bool has_ipv6() const = 0;
};

}  // namespace perjoule::twin

// An HTTP/1.1 client for thousands of streamed responses in one thread: each piece of a body comes
// with the instant of the read(2) that brought it.
//
//   PJ_TRY(const HttpUrl url, HttpUrl::parse("https://localhost:8000"));
//   PJ_TRY(const auto client, HttpClient::create(*loop, url, {}));    // looks the host up: may
//   wait const auto stream = client->open({.method = "POST", .path = "/v1/completions", .body =
//   json},
//                                    reader);                         // reader.head(), .body() ...
//   loop->run();
//
// Connections are kept and used again, the last one first; there is no limit to how many are open
// at a time. Nothing is redirected, decompressed or sent twice, with one exception: a kept
// connection that the server closed before a byte of the response came is replaced by a new one,
// as nobody can know of it beforehand (RFC 9112, section 9.3.1); the reader is told by a second
// sent().
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/huge_pages.h"
#include "base/result.h"
#include "base/units.h"
#include "net/event_loop.h"
#include "net/http_head.h"
#include "net/http_url.h"
#include "net/tls_session.h"

namespace perjoule {

struct HttpRequest {
  std::string method = "GET";  ///< or POST, PUT, DELETE
  std::string path = "/";      ///< put behind the URL's own
  /// Besides Host, Accept-Encoding and Content-Length.
  std::vector<HttpField> fields = {};
  /// Shared, as a prompt with pictures has tens of megabytes; null for none.
  std::shared_ptr<const std::string> body = {};
};

enum class HttpOutcome {
  kComplete,      ///< whatever its status
  kNotConnected,  ///< no connection, or no TLS session
  kConnectTimeout,
  kResponseTimeout,  ///< no head in time
  kIdleTimeout,      ///< a pause within the body
  kLost,             ///< the connection ended before the response did
  kMalformed,        ///< what came is no HTTP
};

struct HttpEnd {
  HttpOutcome outcome = HttpOutcome::kComplete;
  Instant at;
  std::string message = {};  ///< why it is not complete
  bool has_begun = false;    ///< a byte of the response came
};

/// Who is told what becomes of a request; from the loop's thread. It may open and cancel streams.
class HttpReader {
 public:
  virtual ~HttpReader() = default;
  /// The request's first byte is handed to the socket. May come before open() has returned.
  virtual void sent(Instant /*at*/) {}
  virtual void head(const HttpHead& /*head*/, Instant /*at*/) {}
  /// A piece of the body, good until it returns.
  virtual void body(std::string_view piece, Instant at) = 0;
  /// The last call; never before open() has returned.
  virtual void ended(const HttpEnd& end) = 0;
};

struct HttpTimeouts {
  Seconds connect = Seconds(30);         ///< all addresses and TLS together
  std::optional<Seconds> response = {};  ///< from sent() until the head
  std::optional<Seconds> idle = {};      ///< between the head and two reads of the body
};

struct HttpClientOptions {
  HttpTimeouts timeouts = {};
  HttpLimits limits = {};
  TlsOptions tls = {};
  bool keeps_connections = true;
};

class HttpConnection;

class HttpClient {
 public:
  using StreamId = std::uint64_t;

  /// Looks the host up, which may take seconds, and reads the certificates. The loop must outlive
  /// the client.
  static Result<std::unique_ptr<HttpClient>> create(EventLoop& loop, const HttpUrl& url,
                                                    const HttpClientOptions& options);
  /// Not from within a reader's call.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends the request as soon as there is a connection. The reader must live until it was told of
  /// the end, or the stream is cancelled. invalid_argument for a request that would break the
  /// protocol: a line's end in a field or path.
  Result<StreamId> open(HttpRequest request, HttpReader& reader);
  /// Closes the stream and its connection; the reader is not told anything any more. Nothing
  /// happens where it has ended already.
  void cancel(StreamId stream);

  const HttpUrl& url() const { return url_; }
  std::size_t open_streams() const { return busy_.size(); }
  std::size_t idle_connections() const { return idle_.size(); }
  /// Since the beginning.
  std::uint64_t connections_made() const { return connections_made_; }

 private:
  friend class HttpConnection;
  using Held = std::shared_ptr<HttpConnection>;

  HttpClient(EventLoop& loop, HttpUrl url, const HttpClientOptions& options)
      : loop_(loop), url_(std::move(url)), options_(options), buffer_(kBufferSize, '\0') {}
  std::string head_of(const HttpRequest& request) const;
  void connect(StreamId stream, std::shared_ptr<const std::string> head,
               std::shared_ptr<const std::string> body, HttpReader& reader);
  // What a connection tells: it holds itself while it does.
  void release(HttpConnection& connection);
  void remove(HttpConnection& connection);
  void replace(HttpConnection& connection);

  static constexpr std::size_t kBufferSize = 64U << 10U;

  EventLoop& loop_;
  HttpUrl url_;
  HttpClientOptions options_;
  std::vector<SocketAddress> addresses_;
  std::size_t first_address_ = 0;  ///< the one that answered last
  std::optional<TlsContext> tls_;
  std::string buffer_;   ///< what a read brought, of whichever connection
  std::string plain_;    ///< the same behind TLS
  HugePagePool places_;  ///< of the connections
  std::unordered_map<StreamId, Held> busy_;
  std::vector<Held> idle_;
  StreamId last_stream_ = 0;
  std::uint64_t connections_made_ = 0;
};

}  // namespace perjoule

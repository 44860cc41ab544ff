#include "net/http_stream.h"

#include <algorithm>
#include <utility>

#include "net/http_connection.h"

namespace perjoule {
namespace {

/// Up to so many bytes a body goes out with its head, in one segment where it fits.
constexpr std::size_t kSmallBody = 16U << 10U;

/// Within a line of the head: anything but its end.
bool fits_a_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool fits_a_path(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c >= '\x7f'; });
}

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::create(EventLoop& loop, const HttpUrl& url,
                                                       const HttpClientOptions& options) {
  std::unique_ptr<HttpClient> client(new HttpClient(loop, url, options));
  PJ_TRY(client->addresses_, resolve(url));
  if (url.is_tls) {
    PJ_TRY(client->tls_, TlsContext::create(options.tls));
    client->plain_.resize(kBufferSize);
  }
  return client;
}

HttpClient::~HttpClient() {
  for (const auto& [stream, connection] : busy_) connection->close();
  for (const Held& connection : idle_) connection->close();
}

std::string HttpClient::head_of(const HttpRequest& request) const {
  std::string head = request.method + " " + url_.path + request.path +
                     " HTTP/1.1\r\nHost: " + url_.authority() + "\r\nAccept-Encoding: identity\r\n";
  for (const HttpField& field : request.fields) head += field.name + ": " + field.value + "\r\n";
  if (request.body) head += "Content-Length: " + std::to_string(request.body->size()) + "\r\n";
  if (!options_.keeps_connections) head += "Connection: close\r\n";
  return head + "\r\n";
}

Result<HttpClient::StreamId> HttpClient::open(HttpRequest request, HttpReader& reader) {
  const auto known = {"GET", "POST", "PUT", "DELETE"};
  if (std::find(known.begin(), known.end(), request.method) == known.end())
    return Error::invalid_argument("a request of another method: " + request.method);
  if (!fits_a_path(request.path) || request.path.empty() || request.path.front() != '/')
    return Error::invalid_argument("no path of a request: '" + request.path + "'");
  for (const HttpField& field : request.fields) {
    if (field.name.empty() || !fits_a_line(field.name) || !fits_a_line(field.value))
      return Error::invalid_argument("a field with a line's end in it: " + field.name);
  }
  std::string head = head_of(request);
  if (request.body && request.body->size() <= kSmallBody) {
    head += *request.body;
    request.body.reset();
  }
  const StreamId stream = ++last_stream_;
  auto text = std::make_shared<const std::string>(std::move(head));
  if (idle_.empty()) {
    connect(stream, std::move(text), std::move(request.body), reader);
    return stream;
  }
  const Held connection = std::move(idle_.back());
  idle_.pop_back();
  busy_.emplace(stream, connection);
  connection->start(stream, std::move(text), std::move(request.body), reader);
  return stream;
}

void HttpClient::connect(StreamId stream, std::shared_ptr<const std::string> head,
                         std::shared_ptr<const std::string> body, HttpReader& reader) {
  const Held connection = std::allocate_shared<HttpConnection>(
      std::pmr::polymorphic_allocator<HttpConnection>(&places_), *this);
  busy_.emplace(stream, connection);
  connection->start(stream, std::move(head), std::move(body), reader);
}

void HttpClient::cancel(StreamId stream) {
  const auto found = busy_.find(stream);
  if (found == busy_.end()) return;
  const Held connection = std::move(found->second);
  busy_.erase(found);
  connection->close();
}

void HttpClient::release(HttpConnection& connection) {
  const auto found = busy_.find(connection.stream_);
  idle_.push_back(std::move(found->second));
  busy_.erase(found);
  connection.stream_ = 0;
}

void HttpClient::remove(HttpConnection& connection) {
  busy_.erase(connection.stream_);
  std::erase_if(idle_, [&](const Held& held) { return held.get() == &connection; });
  connection.close();
}

void HttpClient::replace(HttpConnection& connection) {
  const StreamId stream = connection.stream_;
  HttpReader* reader = connection.reader_;
  auto head = connection.head_;
  auto body = connection.body_;
  remove(connection);
  connect(stream, std::move(head), std::move(body), *reader);
}

}  // namespace perjoule

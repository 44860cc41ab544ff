// One connection of an HttpClient (http_stream.h): socket, TLS, the request that goes out and the
// response that comes in. Of the client alone.
//
// A connection may be closed from within any call of its reader, by cancel() as by the next
// request: whoever calls out holds the connection, and looks afterwards whether its stream is still
// the one it was.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_stream.h"

namespace perjoule {

class HttpConnection final : public FdWatcher, public std::enable_shared_from_this<HttpConnection> {
 public:
  explicit HttpConnection(HttpClient& client) : client_(client), parser_(client.options_.limits) {}
  ~HttpConnection() override { close(); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Another request, over a new connection where there is none yet. Tells of no end before it
  /// returns.
  void start(HttpClient::StreamId stream, std::shared_ptr<const std::string> head,
             std::shared_ptr<const std::string> body, HttpReader& reader);
  /// Without a word to the reader.
  void close();

  HttpClient::StreamId stream() const { return stream_; }
  void ready(std::uint32_t events) override;

 private:
  friend class HttpClient;
  enum class State { kNew, kConnecting, kShaking, kOpen, kClosed };

  // Connecting.
  void connect();
  void connect_next();
  bool try_address(const SocketAddress& address);
  void take_connect_result();
  void connected();
  void shake_hands();
  // Sending.
  void send_request();
  void flush();
  bool refill();
  bool send_some(std::string_view bytes, std::size_t& count);
  void want_to_write(bool wants);
  // Receiving.
  void receive();
  void fetch_reader() const;
  void take_wire(std::string_view wire, Instant at);
  void take_plain(std::string_view bytes, Instant at);
  void take_end(Instant at);
  void response_is_over(Instant at, bool is_reusable);
  // Ends.
  void set_deadline(std::optional<Instant> deadline);
  void look_at_deadline();
  void lose(Instant at, std::string message);
  void fail(HttpOutcome outcome, Instant at, std::string message);
  Instant now() const { return client_.loop_.clock().now(); }

  // What each read looks at stands together, and first: with thousands of connections none of it is
  // in the cache.
  HttpClient& client_;
  State state_ = State::kNew;
  FileDescriptor socket_;
  HttpClient::StreamId stream_ = 0;  ///< 0 while there is no request
  HttpReader* reader_ = nullptr;
  bool is_head_told_ = false;
  std::optional<Instant> deadline_;
  std::optional<TlsSession> tls_;
  HttpResponseParser parser_;

  EventLoop::TimerId timer_ = 0;
  Instant timer_at_;
  bool was_used_ = false;         ///< it has had a response before
  std::size_t next_address_ = 0;  ///< counted from the client's first
  std::string connect_problem_;   ///< of the address that was tried last

  std::shared_ptr<const std::string> head_;
  std::shared_ptr<const std::string> body_;
  std::size_t head_sent_ = 0;
  std::size_t body_sent_ = 0;
  std::string wire_;  ///< through TLS, not yet sent
  std::size_t wire_sent_ = 0;
  bool is_writing_ = false;  ///< the loop waits until the socket takes more
  bool is_sent_told_ = false;
  bool sends_no_more_ = false;  ///< the server takes no more: what it says counts
};

}  // namespace perjoule

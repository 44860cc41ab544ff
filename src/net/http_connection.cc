#include "net/http_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace perjoule {
namespace {

/// Of a body that goes through TLS: what is encrypted at a time.
constexpr std::size_t kPiece = 256U << 10U;

}  // namespace

void HttpConnection::start(HttpClient::StreamId stream, std::shared_ptr<const std::string> head,
                           std::shared_ptr<const std::string> body, HttpReader& reader) {
  stream_ = stream;
  reader_ = &reader;
  head_ = std::move(head);
  body_ = std::move(body);
  head_sent_ = body_sent_ = 0;
  is_sent_told_ = is_head_told_ = false;
  parser_.begin();
  if (state_ == State::kNew) {
    connect();
  } else {
    send_request();
  }
}

void HttpConnection::close() {
  if (timer_ != 0) client_.loop_.cancel(std::exchange(timer_, 0));
  deadline_.reset();
  client_.loop_.forget(socket_.get());
  socket_.reset();
  stream_ = 0;
  reader_ = nullptr;
  state_ = State::kClosed;
}

void HttpConnection::ready(std::uint32_t events) {
  const auto held = shared_from_this();
  if (state_ == State::kConnecting) return take_connect_result();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive();
  if ((events & EPOLLOUT) != 0 && state_ != State::kClosed) flush();
}

// ---- connecting

void HttpConnection::connect() {
  state_ = State::kConnecting;
  set_deadline(now() + client_.options_.timeouts.connect);
  connect_next();
}

void HttpConnection::connect_next() {
  const std::size_t count = client_.addresses_.size();
  while (next_address_ < count) {
    const std::size_t index = (client_.first_address_ + next_address_++) % count;
    if (try_address(client_.addresses_[index])) return;
  }
  // Not at once: the reader is told of no end while it opens a stream.
  set_deadline(now());
}

bool HttpConnection::try_address(const SocketAddress& address) {
  client_.loop_.forget(socket_.get());
  socket_ = FileDescriptor(::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto problem = [&](int number) {
    connect_problem_ = "connecting to " + address.text() + ": " + std::strerror(number);
    socket_.reset();
    return false;
  };
  if (!socket_.valid()) return problem(errno);
  // A request must not wait for the acknowledgement of the one before.
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto* raw = reinterpret_cast<const sockaddr*>(address.bytes.data());
  const int status = ::connect(socket_.get(), raw, static_cast<socklen_t>(address.bytes.size()));
  if (status != 0 && errno != EINPROGRESS) return problem(errno);
  const Outcome watched = client_.loop_.watch(socket_.get(), EPOLLOUT, *this);
  if (watched) return true;
  connect_problem_ = watched.error().message;
  socket_.reset();
  return false;
}

void HttpConnection::take_connect_result() {
  int number = 0;
  socklen_t size = sizeof(number);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
  const std::size_t index =
      (client_.first_address_ + next_address_ - 1) % client_.addresses_.size();
  if (number == 0) {
    client_.first_address_ = index;
    return connected();
  }
  connect_problem_ =
      "connecting to " + client_.addresses_[index].text() + ": " + std::strerror(number);
  client_.loop_.forget(socket_.get());
  socket_.reset();
  connect_next();
}

void HttpConnection::connected() {
  ++client_.connections_made_;
  (void)client_.loop_.change(socket_.get(), EPOLLIN);
  is_writing_ = false;
  if (!client_.tls_) return send_request();
  auto session = TlsSession::connect(*client_.tls_, client_.url_.host);
  if (!session) return fail(HttpOutcome::kNotConnected, now(), session.error().text());
  tls_ = std::move(*session);
  state_ = State::kShaking;
  shake_hands();
}

void HttpConnection::shake_hands() {
  const auto done = tls_->shake_hands();
  tls_->take_outgoing(wire_);
  if (!done) {
    flush();  // the alert that says why
    if (state_ == State::kClosed) return;
    return fail(HttpOutcome::kNotConnected, now(), done.error().text());
  }
  if (*done) return send_request();
  flush();
}

// ---- sending

void HttpConnection::send_request() {
  state_ = State::kOpen;
  set_deadline({});
  if (client_.options_.timeouts.response) set_deadline(now() + *client_.options_.timeouts.response);
  flush();
}

void HttpConnection::flush() {
  const HttpClient::StreamId stream = stream_;
  while (!sends_no_more_) {
    if (tls_) {
      if (wire_sent_ == wire_.size() && !refill()) break;
      std::size_t count = 0;
      if (!send_some(std::string_view(wire_).substr(wire_sent_), count)) return;
      wire_sent_ += count;
    } else {
      if (state_ != State::kOpen || stream_ == 0) break;
      const bool is_head = head_sent_ < head_->size();
      std::string_view rest = std::string_view(*head_).substr(head_sent_);
      if (!is_head) rest = body_ ? std::string_view(*body_).substr(body_sent_) : std::string_view();
      if (rest.empty()) break;
      std::size_t count = 0;
      if (!send_some(rest, count)) return;
      (is_head ? head_sent_ : body_sent_) += count;
    }
    if (state_ == State::kClosed || stream_ != stream) return;
  }
  want_to_write(false);
}

/// The next piece of the request, encrypted; false where there is none.
bool HttpConnection::refill() {
  wire_.clear();
  wire_sent_ = 0;
  if (state_ == State::kOpen && stream_ != 0) {
    std::string_view piece = std::string_view(*head_).substr(head_sent_);
    head_sent_ = head_->size();
    if (piece.empty() && body_) {
      piece = std::string_view(*body_).substr(body_sent_, kPiece);
      body_sent_ += piece.size();
    }
    if (const Outcome written = tls_->write(piece); !written) sends_no_more_ = true;
  }
  tls_->take_outgoing(wire_);
  return !wire_.empty();
}

/// False where the socket takes no more now, and where the reader has ended the stream.
bool HttpConnection::send_some(std::string_view bytes, std::size_t& count) {
  if (!is_sent_told_ && state_ == State::kOpen && stream_ != 0) {
    is_sent_told_ = true;
    const HttpClient::StreamId stream = stream_;
    reader_->sent(now());
    if (stream_ != stream) return false;
  }
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    count = static_cast<std::size_t>(sent);
    return true;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    want_to_write(true);
    return false;
  }
  if (errno == EINTR) return true;
  // The server may have answered before it hung up: reading tells.
  sends_no_more_ = true;
  want_to_write(false);
  return false;
}

void HttpConnection::want_to_write(bool wants) {
  if (wants == is_writing_ || !socket_.valid()) return;
  const std::uint32_t events = wants ? EPOLLIN | EPOLLOUT : EPOLLIN;
  (void)client_.loop_.change(socket_.get(), events);
  is_writing_ = wants;
}

// ---- receiving

void HttpConnection::receive() {
  fetch_reader();
  std::string& buffer = client_.buffer_;
  const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  const int number = errno;
  const Instant at = now();
  if (got < 0) {
    if (number == EAGAIN || number == EWOULDBLOCK || number == EINTR) return;
    return lose(at, std::string("the connection broke: ") + std::strerror(number));
  }
  if (got == 0) return take_end(at);
  const std::string_view bytes = std::string_view(buffer).substr(0, static_cast<std::size_t>(got));
  if (tls_) {
    take_wire(bytes, at);
  } else {
    take_plain(bytes, at);
  }
}

/// With thousands of streams the reader is out of the cache: it comes back while the socket is
/// read.
void HttpConnection::fetch_reader() const {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kLines = 12;
  const auto* bytes = reinterpret_cast<const char*>(reader_);
  if (bytes == nullptr) return;
  for (std::size_t i = 0; i < kLines; ++i) __builtin_prefetch(bytes + i * kLine);
}

void HttpConnection::take_wire(std::string_view wire, Instant at) {
  tls_->receive(wire);
  if (state_ == State::kShaking) shake_hands();
  // What follows the handshake in the same read belongs to the session already.
  while (state_ == State::kOpen) {
    const auto count = tls_->read(client_.plain_);
    if (!count) return lose(at, count.error().text());
    if (*count == 0) break;
    take_plain(std::string_view(client_.plain_).substr(0, *count), at);
  }
  if (state_ == State::kOpen && tls_->is_closed()) return take_end(at);
  if (state_ == State::kOpen) flush();  // what the session has to say on its own
}

void HttpConnection::take_plain(std::string_view bytes, Instant at) {
  // Something that nobody has asked for: a server that gives up a kept connection may say why.
  if (stream_ == 0) return client_.remove(*this);
  const HttpClient::StreamId stream = stream_;
  if (is_head_told_ && client_.options_.timeouts.idle)
    set_deadline(at + *client_.options_.timeouts.idle);
  while (!bytes.empty() && !parser_.is_over()) {
    const std::string_view piece = parser_.read(bytes);
    const bool has_head = parser_.state() == HttpResponseParser::State::kBody ||
                          parser_.state() == HttpResponseParser::State::kDone;
    if (has_head && !is_head_told_) {
      is_head_told_ = true;
      set_deadline({});
      if (client_.options_.timeouts.idle) set_deadline(at + *client_.options_.timeouts.idle);
      reader_->head(parser_.head(), at);
      if (stream_ != stream) return;
    }
    if (!piece.empty()) {
      reader_->body(piece, at);
      if (stream_ != stream) return;
    }
  }
  if (parser_.state() == HttpResponseParser::State::kFailed)
    return fail(HttpOutcome::kMalformed, at, parser_.problem());
  if (parser_.is_over()) response_is_over(at, bytes.empty());
}

void HttpConnection::take_end(Instant at) {
  if (state_ == State::kShaking)
    return fail(HttpOutcome::kNotConnected, at, "the server hung up within the TLS handshake");
  if (stream_ == 0) return client_.remove(*this);
  parser_.finish();
  if (parser_.state() == HttpResponseParser::State::kFailed) return lose(at, parser_.problem());
  // Anybody between us and the server can end a connection, but not say so within TLS.
  if (tls_ && !tls_->is_closed())
    return lose(at, "the connection ended without the end of its TLS session");
  response_is_over(at, false);
}

void HttpConnection::response_is_over(Instant at, bool is_reusable) {
  const bool is_sent = head_sent_ == head_->size() && (!body_ || body_sent_ == body_->size()) &&
                       wire_sent_ == wire_.size() && !sends_no_more_;
  HttpReader* reader = std::exchange(reader_, nullptr);
  if (is_reusable && is_sent && parser_.head().keeps_alive && client_.options_.keeps_connections) {
    was_used_ = true;
    set_deadline({});
    // Before the reader is told, so that the request it opens then finds this connection.
    client_.release(*this);
  } else {
    client_.remove(*this);
  }
  reader->ended({.outcome = HttpOutcome::kComplete, .at = at, .has_begun = true});
}

// ---- ends

/// The timer is left where it stands when the deadline moves on, as it does with every chunk.
void HttpConnection::set_deadline(std::optional<Instant> deadline) {
  deadline_ = deadline;
  if (!deadline_) return;
  if (timer_ != 0 && timer_at_ <= *deadline_) return;
  if (timer_ != 0) client_.loop_.cancel(timer_);
  timer_at_ = *deadline_;
  timer_ = client_.loop_.call_at(timer_at_, [this] { look_at_deadline(); });
}

void HttpConnection::look_at_deadline() {
  timer_ = 0;
  if (!deadline_) return;
  const Instant at = now();
  if (at < *deadline_) return set_deadline(deadline_);
  const auto held = shared_from_this();
  if (state_ == State::kConnecting && !socket_.valid())
    return fail(HttpOutcome::kNotConnected, at, connect_problem_);
  if (state_ == State::kConnecting || state_ == State::kShaking) {
    return fail(HttpOutcome::kConnectTimeout, at,
                "no connection to " + client_.url_.authority() + " in time");
  }
  if (!is_head_told_) return fail(HttpOutcome::kResponseTimeout, at, "no response came in time");
  fail(HttpOutcome::kIdleTimeout, at, "the response paused for too long");
}

/// The connection is no more.
void HttpConnection::lose(Instant at, std::string message) {
  if (stream_ == 0) return client_.remove(*this);
  if (state_ == State::kShaking) return fail(HttpOutcome::kNotConnected, at, std::move(message));
  if (was_used_ && !parser_.has_begun()) return client_.replace(*this);
  fail(HttpOutcome::kLost, at, std::move(message));
}

void HttpConnection::fail(HttpOutcome outcome, Instant at, std::string message) {
  HttpReader* reader = std::exchange(reader_, nullptr);
  const bool has_begun = parser_.has_begun();
  client_.remove(*this);
  if (reader == nullptr) return;
  reader->ended(
      {.outcome = outcome, .at = at, .message = std::move(message), .has_begun = has_begun});
}

}  // namespace perjoule

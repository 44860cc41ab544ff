#include "twin/serve_http.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "twin/serve_api.h"
#include "twin/wake_timer.h"

namespace perjoule::twin {
namespace {

/// A client that does nothing for an hour is no fault of an inference server's.
constexpr ServerLimits kLimits = {.request_time = Seconds(86'400), .silence = Seconds(0)};

ServerHead server_head(const HttpHead& head) {
  ServerHead answer{.status = head.status, .content_type = head.content_type};
  if (head.retry_after_s > 0) {
    answer.fields.push_back({"Retry-After", std::to_string(head.retry_after_s)});
  }
  return answer;
}

/// Hands each piece on when it is due.
class PacedExchange final : public HttpExchange,
                            public std::enable_shared_from_this<PacedExchange> {
 public:
  PacedExchange(std::shared_ptr<ServerExchange> exchange, WakeTimer& timer)
      : exchange_(std::move(exchange)), timer_(timer) {}

  void answer(HttpHead head, std::string body) override {
    exchange_->answer(server_head(head), std::move(body));
  }
  void begin_stream(HttpHead head) override { exchange_->begin_stream(server_head(head)); }
  void send(std::vector<WirePiece> pieces) override {
    const std::lock_guard lock(mutex_);
    for (WirePiece& piece : pieces) {
      last_due_ = std::max(last_due_, clock_.now()) + piece.pause;
      pieces_.push_back({shared_text(std::move(piece.bytes)), last_due_});
    }
    hand_on();
  }
  void end(bool broken) override {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    broken_ |= broken;
    hand_on();
  }
  /// The client has gone, or the server has: whoever holds this still may say what he likes.
  void leave() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    pieces_.clear();
  }

 private:
  struct TimedPiece {
    SharedText bytes;
    Instant due;
  };

  void hand_on() {
    if (is_over_ || waits_) return;
    while (!pieces_.empty() && pieces_.front().due <= clock_.now()) {
      exchange_->send(std::move(pieces_.front().bytes));
      pieces_.pop_front();
    }
    if (pieces_.empty()) {
      if (ended_) exchange_->end(broken_);
      return;
    }
    waits_ = true;
    timer_.call_at(pieces_.front().due, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      const std::lock_guard lock(self->mutex_);
      self->waits_ = false;
      self->hand_on();
    });
  }

  RealClock clock_;
  const std::shared_ptr<ServerExchange> exchange_;
  WakeTimer& timer_;
  std::mutex mutex_;  // all below
  std::deque<TimedPiece> pieces_;
  Instant last_due_;
  bool ended_ = false;
  bool broken_ = false;
  bool waits_ = false;  ///< for the timer
  bool is_over_ = false;
};

class LoopbackServer final : public HttpServer, private ServerHandler {
 public:
  explicit LoopbackServer(HttpHandler& handler) : handler_(handler) {}

  Outcome listen(int port) {
    PJ_TRY(LoopbackSockets sockets, listen_on_loopback(port));
    port_ = sockets.port;
    has_ipv6_ = sockets.v6.valid();
    PJ_TRY(server_, perjoule::HttpServer::create(*this, kLimits));
    PJ_CHECK(server_->serve({.socket = std::move(sockets.v4)}));
    return has_ipv6_ ? server_->serve({.socket = std::move(sockets.v6)}) : Outcome();
  }

  int port() const override { return port_; }
  bool has_ipv6() const override { return has_ipv6_; }

 private:
  void handle(const ServerRequest& request, std::shared_ptr<ServerExchange> exchange) override {
    const ServerExchange* const key = exchange.get();
    const auto paced = std::make_shared<PacedExchange>(std::move(exchange), timer_);
    {
      const std::lock_guard lock(mutex_);
      exchanges_[key] = paced;
    }
    handler_.handle({.method = request.method,
                     .path = std::string(request.path()),
                     .authorization = std::string(request.field("Authorization")),
                     .body = request.body},
                    paced);
  }
  void ended(const ServerExchange& exchange) override {
    std::shared_ptr<PacedExchange> paced;
    {
      const std::lock_guard lock(mutex_);
      const auto found = exchanges_.find(&exchange);
      if (found == exchanges_.end()) return;
      paced = std::move(found->second);
      exchanges_.erase(found);
    }
    paced->leave();
    handler_.ended(*paced);
  }
  std::string refusal(int status, std::string_view why) const override {
    return error_body({.status = status, .message = std::string(why)});
  }

  HttpHandler& handler_;
  WakeTimer timer_;
  int port_ = 0;
  bool has_ipv6_ = false;
  std::mutex mutex_;  // what follows
  std::map<const ServerExchange*, std::shared_ptr<PacedExchange>> exchanges_;
  std::unique_ptr<perjoule::HttpServer> server_;  // last: its threads use all else
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(int port, HttpHandler& handler) {
  auto server = std::make_unique<LoopbackServer>(handler);
  PJ_CHECK(server->listen(port));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace perjoule::twin

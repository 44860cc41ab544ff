// For tests: a server on this machine that does what its script says, on a thread a connection.
//
//   TestHttpServer server([](TestPeer& peer) {
//     while (peer.read_request()) peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
//   });
//   HttpUrl::parse(server.url());
//
// The connection is closed when its script returns; the server's end ends the scripts.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace perjoule {

/// A client, as the server sees it.
class TestPeer {
 public:
  TestPeer(int socket, int number, SSL_CTX* tls) : socket_(socket), number_(number) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, socket);
    is_good_ = SSL_accept(ssl_) == 1;
  }
  ~TestPeer() {
    if (ssl_ == nullptr) return;
    if (is_good_ && says_goodbye_) SSL_shutdown(ssl_);
    SSL_free(ssl_);
  }
  TestPeer(const TestPeer&) = delete;
  TestPeer& operator=(const TestPeer&) = delete;

  /// Counted from 0.
  int number() const { return number_; }
  std::string server_name() const {
    const char* name =
        ssl_ == nullptr ? nullptr : SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "" : name;
  }

  /// Head and body; nothing once the client has hung up.
  std::optional<std::string> read_request() {
    std::string text = std::exchange(ahead_, {});
    for (;;) {
      const std::size_t head = text.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t field = text.find("Content-Length: ");
        std::size_t size = head + 4;
        if (field < head)
          size +=
              static_cast<std::size_t>(*leading_number(std::string_view(text).substr(field + 16)));
        if (text.size() >= size) {
          ahead_ = text.substr(size);
          text.resize(size);
          return text;
        }
      }
      if (!receive(text)) return {};
    }
  }
  void send(std::string_view bytes) {
    while (is_good_ && !bytes.empty()) {
      const long sent = ssl_ != nullptr
                            ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                            : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      is_good_ = sent > 0;
      if (is_good_) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// In pieces, each a segment of its own as far as the system keeps them apart.
  void send_in_pieces(std::string_view bytes, std::size_t piece) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      send(bytes.substr(0, piece));
      std::this_thread::yield();
    }
  }
  void wait_until_hung_up() {
    std::string text;
    while (receive(text)) text.clear();
  }
  /// The same without reading: what the client still sends stays where it is.
  void wait_deaf_until_hung_up() const {
    pollfd watched{socket_, POLLRDHUP, 0};
    ::poll(&watched, 1, 10'000);
  }
  /// The connection is broken off, not ended, when the script returns.
  void reset_at_end() const {
    const linger none{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
  }
  /// Ends without TLS's own word for it.
  void leave_without_goodbye() { says_goodbye_ = false; }

 private:
  bool receive(std::string& text) {
    std::array<char, 1U << 16U> buffer;  // NOLINT: filled by the kernel
    const long got = !is_good_ ? 0
                     : ssl_ != nullptr
                         ? SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()))
                         : ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got <= 0) return is_good_ = false;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  int number_;
  SSL* ssl_ = nullptr;
  bool is_good_ = true;
  bool says_goodbye_ = true;
  std::string ahead_;  ///< of the request that follows
};

class TestHttpServer {
 public:
  using Script = std::function<void(TestPeer&)>;

  explicit TestHttpServer(Script script, int family = AF_INET, SSL_CTX* tls = nullptr)
      : script_(std::move(script)), family_(family), tls_(tls) {
    // OpenSSL writes to sockets whose other end may be gone.
    std::signal(SIGPIPE, SIG_IGN);  // NOLINT: of a test
    listening_ = FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_loopback;
    const bool is_four = family == AF_INET;
    auto* address =
        is_four ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
    socklen_t size = is_four ? sizeof(four) : sizeof(six);
    EXPECT_EQ(::bind(listening_.get(), address, size), 0) << std::strerror(errno);
    EXPECT_EQ(::listen(listening_.get(), 128), 0);
    EXPECT_EQ(::getsockname(listening_.get(), address, &size), 0);
    port_ = ntohs(is_four ? four.sin_port : six.sin6_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~TestHttpServer() {
    ::shutdown(listening_.get(), SHUT_RDWR);
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    for (std::thread& peer : peers_) peer.join();
  }
  TestHttpServer(const TestHttpServer&) = delete;
  TestHttpServer& operator=(const TestHttpServer&) = delete;

  std::string url() const {
    return (tls_ != nullptr ? "https://" : "http://") +
           std::string(family_ == AF_INET ? "127.0.0.1" : "[::1]") + ":" + std::to_string(port_);
  }
  int port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void accept_all() {
    for (;;) {
      const int socket = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      const std::lock_guard lock(mutex_);
      open_.push_back(socket);
      peers_.emplace_back([this, socket, number = connections_++] {
        {
          TestPeer peer(socket, number, tls_);
          script_(peer);
        }
        const std::lock_guard closing(mutex_);
        std::erase(open_, socket);
        ::close(socket);
      });
    }
  }

  Script script_;
  int family_;
  SSL_CTX* tls_;
  FileDescriptor listening_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;           ///< guarded by mutex_
  std::vector<std::thread> peers_;  ///< of the accepting thread, until it has ended
  std::thread thread_;
};

}  // namespace perjoule

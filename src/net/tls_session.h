// TLS between a socket and whoever reads and writes plain bytes: it holds no socket, and never
// waits. OpenSSL works on two buffers in memory.
//
//   PJ_TRY(const TlsContext context, TlsContext::create());
//   PJ_TRY(TlsSession session, TlsSession::connect(context, "api.example"));
//   session.receive(from_socket);                        // whenever bytes came
//   PJ_TRY(const bool done, session.shake_hands());
//   PJ_TRY(const std::size_t count, session.read(plain));
//   session.take_outgoing(to_socket);                    // after each of them
//
// The server's certificate must be good for the host and signed by somebody whom the system, or the
// file that is given, trusts; TLS 1.2 at least.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace perjoule {

struct TlsOptions {
  bool verifies = true;          ///< else any certificate will do: for servers of one's own only
  std::string authorities = {};  ///< a PEM file of those who are trusted; empty: the system's
};

/// What sessions share. Sessions keep what they need of it.
class TlsContext {
 public:
  /// not_found or invalid_argument where the authorities cannot be read.
  static Result<TlsContext> create(const TlsOptions& options = {});

 private:
  friend class TlsSession;
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
  bool verifies_ = true;
};

/// A client's side.
class TlsSession {
 public:
  /// Of a host's name or its address. Nothing is sent until shake_hands().
  static Result<TlsSession> connect(const TlsContext& context, const std::string& host);

  /// Bytes from the socket.
  void receive(std::string_view wire);
  /// Goes as far as it can; answers whether the session is ready. permission_denied where the
  /// certificate is not trusted, unavailable for what else goes wrong.
  Result<bool> shake_hands();
  /// Plain bytes that have come, at most as many as there is room for; 0 where there are none now.
  Result<std::size_t> read(std::span<char> into);
  /// Takes all bytes, once hands were shaken.
  Outcome write(std::string_view plain);
  /// Appends what is to be sent.
  void take_outgoing(std::string& wire);
  /// The server has said that nothing more comes: what came is whole.
  bool is_closed() const;

 private:
  struct Free {
    void operator()(ssl_st* session) const;
  };
  Error failure(int status, const char* doing) const;

  std::unique_ptr<ssl_st, Free> session_;
};

}  // namespace perjoule

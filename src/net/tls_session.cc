#include "net/tls_session.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <limits>

#include "base/file.h"
#include "net/openssl.h"

namespace perjoule {
namespace {

/// OpenSSL's words for its last error; the queue, which is the thread's, is empty afterwards.
std::string last_words() {
  const unsigned long number = openssl().ERR_peek_last_error();
  const char* words = number == 0 ? nullptr : openssl().ERR_reason_error_string(number);
  openssl().ERR_clear_error();
  return words == nullptr ? "no reason given" : words;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const { openssl().SSL_CTX_free(context); }
void TlsSession::Free::operator()(ssl_st* session) const { openssl().SSL_free(session); }

Result<TlsContext> TlsContext::create(const TlsOptions& options) {
  PJ_CHECK(open_openssl());
  TlsContext context;
  context.verifies_ = options.verifies;
  context.context_.reset(openssl().SSL_CTX_new(openssl().TLS_client_method()));
  SSL_CTX* raw = context.context_.get();
  if (raw == nullptr) return Error::internal("OpenSSL makes no context: " + last_words());
  openssl().SSL_CTX_ctrl(raw, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  // Buffers of sessions that have nothing to read are given back: 34 kB each.
  openssl().SSL_CTX_ctrl(raw, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, nullptr);
  if (!options.verifies) return context;
  if (options.authorities.empty()) {
    if (openssl().SSL_CTX_set_default_verify_paths(raw) != 1)
      return Error::unavailable("the system's certificates cannot be read: " + last_words());
    return context;
  }
  if (!path_exists(options.authorities))
    return Error::not_found("no file of certificates: " + options.authorities);
  if (openssl().SSL_CTX_load_verify_locations(raw, options.authorities.c_str(), nullptr) != 1) {
    return Error::invalid_argument(
        "no certificates in " + options.authorities + ": " + last_words(), "give a PEM file");
  }
  return context;
}

Result<TlsSession> TlsSession::connect(const TlsContext& context, const std::string& host) {
  TlsSession session;
  session.session_.reset(openssl().SSL_new(context.context_.get()));
  SSL* raw = session.session_.get();
  if (raw == nullptr) return Error::internal("OpenSSL makes no session: " + last_words());
  BIO* incoming = openssl().BIO_new(openssl().BIO_s_mem());
  BIO* outgoing = openssl().BIO_new(openssl().BIO_s_mem());
  openssl().SSL_set_bio(raw, incoming, outgoing);  // which owns them from here on
  if (incoming == nullptr || outgoing == nullptr)
    return Error::internal("OpenSSL makes no buffer: " + last_words());
  openssl().SSL_set_connect_state(raw);
  bool good = true;
  if (is_address(host)) {
    good =
        openssl().X509_VERIFY_PARAM_set1_ip_asc(openssl().SSL_get0_param(raw), host.c_str()) == 1;
  } else {
    // Names only: RFC 6066, section 3.
    good = openssl().SSL_ctrl(raw, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                              const_cast<char*>(host.c_str())) == 1 &&
           openssl().SSL_set1_host(raw, host.c_str()) == 1;
  }
  if (!good) return Error::invalid_argument("no host that a certificate could be for: " + host);
  openssl().SSL_set_verify(raw, context.verifies_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  return session;
}

void TlsSession::receive(std::string_view wire) {
  BIO* incoming = openssl().SSL_get_rbio(session_.get());
  while (!wire.empty()) {
    const std::size_t most = std::numeric_limits<int>::max();
    const int taken =
        openssl().BIO_write(incoming, wire.data(), static_cast<int>(std::min(wire.size(), most)));
    if (taken <= 0) return;  // no memory left: what is missing shows as a broken record
    wire.remove_prefix(static_cast<std::size_t>(taken));
  }
}

Error TlsSession::failure(int status, const char* doing) const {
  const int kind = openssl().SSL_get_error(session_.get(), status);
  const long verified = openssl().SSL_get_verify_result(session_.get());
  const bool is_certificate = kind == SSL_ERROR_SSL && verified != X509_V_OK &&
                              openssl().SSL_get_verify_mode(session_.get()) != SSL_VERIFY_NONE;
  if (is_certificate) {
    openssl().ERR_clear_error();
    return Error::permission_denied(std::string("the server's certificate is not trusted: ") +
                                        openssl().X509_verify_cert_error_string(verified),
                                    "give the file of those who signed it")
        .value();
  }
  return Error::unavailable(std::string(doing) + ": " + last_words()).value();
}

Result<bool> TlsSession::shake_hands() {
  openssl().ERR_clear_error();
  const int status = openssl().SSL_do_handshake(session_.get());
  if (status == 1) return true;
  if (openssl().SSL_get_error(session_.get(), status) == SSL_ERROR_WANT_READ) return false;
  return tl::unexpected<Error>(failure(status, "the TLS handshake failed"));
}

Result<std::size_t> TlsSession::read(std::span<char> into) {
  openssl().ERR_clear_error();
  std::size_t count = 0;
  const int status = openssl().SSL_read_ex(session_.get(), into.data(), into.size(), &count);
  if (status == 1) return count;
  const int kind = openssl().SSL_get_error(session_.get(), status);
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_ZERO_RETURN) return 0;
  return tl::unexpected<Error>(failure(status, "reading through TLS failed"));
}

Outcome TlsSession::write(std::string_view plain) {
  if (plain.empty()) return {};
  openssl().ERR_clear_error();
  std::size_t count = 0;
  const int status = openssl().SSL_write_ex(session_.get(), plain.data(), plain.size(), &count);
  // Its buffer grows: there is no part that it does not take.
  if (status == 1 && count == plain.size()) return {};
  return tl::unexpected<Error>(failure(status, "writing through TLS failed"));
}

void TlsSession::take_outgoing(std::string& wire) {
  BIO* outgoing = openssl().SSL_get_wbio(session_.get());
  const std::size_t pending = openssl().BIO_ctrl_pending(outgoing);
  if (pending == 0) return;
  const std::size_t before = wire.size();
  wire.resize(before + pending);
  std::size_t count = 0;
  openssl().BIO_read_ex(outgoing, wire.data() + before, pending, &count);
  wire.resize(before + count);
}

bool TlsSession::is_closed() const {
  return (openssl().SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

}  // namespace perjoule

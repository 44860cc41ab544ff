// OpenSSL, opened by the first TLS session: its relocations would be a third of the time that
// every start of the command takes, and most talk to no server.
//
//   PJ_CHECK(open_openssl());
//   SSL* const session = openssl().SSL_new(context);
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/result.h"

namespace perjoule {

// The functions of it that are used. Names that are macros in its headers (SSL_CTX_set_mode, ...)
// are calls of those here.
#define PJ_OPENSSL_FUNCTIONS(F)       \
  F(BIO_ctrl_pending)                 \
  F(BIO_new)                          \
  F(BIO_read_ex)                      \
  F(BIO_s_mem)                        \
  F(BIO_write)                        \
  F(EVP_Q_digest)                     \
  F(ERR_clear_error)                  \
  F(ERR_peek_last_error)              \
  F(ERR_reason_error_string)          \
  F(SSL_CTX_ctrl)                     \
  F(SSL_CTX_free)                     \
  F(SSL_CTX_load_verify_locations)    \
  F(SSL_CTX_new)                      \
  F(SSL_CTX_set_default_verify_paths) \
  F(SSL_ctrl)                         \
  F(SSL_do_handshake)                 \
  F(SSL_free)                         \
  F(SSL_get0_param)                   \
  F(SSL_get_error)                    \
  F(SSL_get_rbio)                     \
  F(SSL_get_shutdown)                 \
  F(SSL_get_verify_mode)              \
  F(SSL_get_verify_result)            \
  F(SSL_get_wbio)                     \
  F(SSL_new)                          \
  F(SSL_read_ex)                      \
  F(SSL_set1_host)                    \
  F(SSL_set_bio)                      \
  F(SSL_set_connect_state)            \
  F(SSL_set_verify)                   \
  F(SSL_write_ex)                     \
  F(TLS_client_method)                \
  F(X509_VERIFY_PARAM_set1_ip_asc)    \
  F(X509_verify_cert_error_string)

struct OpenSsl {
#define PJ_OPENSSL_MEMBER(name) decltype(&::name) name = nullptr;
  PJ_OPENSSL_FUNCTIONS(PJ_OPENSSL_MEMBER)
#undef PJ_OPENSSL_MEMBER
};

/// Opens it once for the process. unavailable where it is not installed, not_supported where it
/// lacks a function.
Outcome open_openssl();

/// Only behind an open_openssl() that went well.
const OpenSsl& openssl();

}  // namespace perjoule

// For tests: a key and a certificate that it has signed itself, good for localhost, 127.0.0.1 and
// ::1.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <string>

namespace perjoule::test_certificate {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

struct Certificate {
  std::unique_ptr<EVP_PKEY, Free> key;
  std::unique_ptr<X509, Free> certificate;
};

inline Certificate make(const char* names = "DNS:localhost,IP:127.0.0.1,IP:::1") {
  Certificate made;
  made.key.reset(EVP_EC_gen("P-256"));
  made.certificate.reset(X509_new());
  X509* raw = made.certificate.get();
  X509_set_version(raw, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(raw), 1);
  X509_gmtime_adj(X509_getm_notBefore(raw), -3600);
  X509_gmtime_adj(X509_getm_notAfter(raw), 3600);
  X509_set_pubkey(raw, made.key.get());
  X509_NAME* name = X509_get_subject_name(raw);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("a test"), -1, -1, 0);
  X509_set_issuer_name(raw, name);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names);
  X509_add_ext(raw, extension, -1);
  X509_EXTENSION_free(extension);
  X509_sign(raw, made.key.get(), EVP_sha256());
  return made;
}

/// The certificate as a PEM file.
inline void write(const Certificate& made, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  PEM_write_X509(file, made.certificate.get());
  std::fclose(file);
}

inline std::unique_ptr<SSL_CTX, Free> server_context(const Certificate& made) {
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_use_certificate(context.get(), made.certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), made.key.get());
  return context;
}

}  // namespace perjoule::test_certificate

#include "net/openssl.h"

#include "base/shared_library.h"

namespace perjoule {
namespace {

struct Opened {
  SharedLibrary shared;
  OpenSsl functions;
};

Result<Opened> open_library() {
  auto library = SharedLibrary::open("libssl.so.3");
  if (!library) {
    return Error::unavailable("https needs OpenSSL, which is not here",
                              "install Debian's package libssl3");
  }
  Opened opened{std::move(*library), {}};
  bool complete = true;
  // What libssl needs, libcrypto, is searched too.
#define PJ_OPENSSL_LOAD(name)                       \
  opened.shared.load(opened.functions.name, #name); \
  complete = complete && opened.functions.name != nullptr;
  PJ_OPENSSL_FUNCTIONS(PJ_OPENSSL_LOAD)
#undef PJ_OPENSSL_LOAD
  if (!complete) return Error::not_supported("libssl.so.3 lacks a function");
  return opened;
}

const Result<Opened>& library() {
  // Never closed: it has clean-up of its own for the process's end.
  static const auto* const opened = new Result<Opened>(open_library());
  return *opened;
}

}  // namespace

Outcome open_openssl() {
  if (!library()) return tl::unexpected<Error>(library().error());
  return {};
}

const OpenSsl& openssl() { return library()->functions; }

}  // namespace perjoule

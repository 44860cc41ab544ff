#include "net/microhttpd.h"

#include "base/shared_library.h"

namespace perjoule {
namespace {

struct Opened {
  SharedLibrary shared;
  Microhttpd functions;
};

Result<Opened> open_library() {
  auto library = SharedLibrary::open("libmicrohttpd.so.12");
  if (!library) {
    return Error::unavailable("an HTTP server needs libmicrohttpd, which is not here",
                              "install Debian's package libmicrohttpd12");
  }
  Opened opened{std::move(*library), {}};
  Microhttpd& f = opened.functions;
  bool complete = true;
  const auto load = [&](auto& function, const char* name) {
    opened.shared.load(function, name);
    complete = complete && function != nullptr;
  };
  load(f.start_daemon, "MHD_start_daemon");
  load(f.stop_daemon, "MHD_stop_daemon");
  load(f.add_response_header, "MHD_add_response_header");
  load(f.create_response_from_buffer, "MHD_create_response_from_buffer");
  load(f.create_response_from_callback, "MHD_create_response_from_callback");
  load(f.destroy_response, "MHD_destroy_response");
  load(f.queue_response, "MHD_queue_response");
  load(f.suspend_connection, "MHD_suspend_connection");
  load(f.resume_connection, "MHD_resume_connection");
  load(f.get_connection_values, "MHD_get_connection_values");
  load(f.get_connection_info, "MHD_get_connection_info");
  load(f.quiesce_daemon, "MHD_quiesce_daemon");
  if (!complete) return Error::not_supported("libmicrohttpd.so.12 lacks a function");
  return opened;
}

const Result<Opened>& library() {
  // Never closed: its threads may still end while the program does.
  static const auto* const opened = new Result<Opened>(open_library());
  return *opened;
}

}  // namespace

Outcome open_microhttpd() {
  if (!library()) return tl::unexpected<Error>(library().error());
  return {};
}

const Microhttpd& microhttpd() { return library()->functions; }

}  // namespace perjoule

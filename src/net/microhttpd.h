// libmicrohttpd, opened when a server starts: with all that it needs (GnuTLS and what that needs)
// it would nearly double the time that every start of the command takes.
//
//   PJ_CHECK(open_microhttpd());
//   MHD_Daemon* const daemon = microhttpd().start_daemon(...);
#pragma once

#include <microhttpd.h>

#include "base/result.h"

namespace perjoule {

/// The functions of it that are used, by their names without MHD_.
struct Microhttpd {
  decltype(&MHD_start_daemon) start_daemon = nullptr;
  decltype(&MHD_stop_daemon) stop_daemon = nullptr;
  decltype(&MHD_add_response_header) add_response_header = nullptr;
  decltype(&MHD_create_response_from_buffer) create_response_from_buffer = nullptr;
  decltype(&MHD_create_response_from_callback) create_response_from_callback = nullptr;
  decltype(&MHD_destroy_response) destroy_response = nullptr;
  decltype(&MHD_queue_response) queue_response = nullptr;
  decltype(&MHD_suspend_connection) suspend_connection = nullptr;
  decltype(&MHD_resume_connection) resume_connection = nullptr;
  decltype(&MHD_get_connection_values) get_connection_values = nullptr;
  decltype(&MHD_get_connection_info) get_connection_info = nullptr;
  decltype(&MHD_quiesce_daemon) quiesce_daemon = nullptr;
};

/// Opens it once for the process. unavailable where it is not installed, not_supported where it
/// lacks a function.
Outcome open_microhttpd();

/// Only behind an open_microhttpd() that went well.
const Microhttpd& microhttpd();

}  // namespace perjoule

// Where a server is: "https://host:8000/v1", or "unix:/run/server.sock", taken apart, and its
// addresses.
//
//   PJ_TRY(const HttpUrl url, HttpUrl::parse("http://[::1]:8000"));
//   PJ_TRY(const auto addresses, resolve(url));       // asks the system, which may take seconds
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perjoule {

struct HttpUrl {
  bool is_tls = false;
  std::string host;  ///< a name or an address, that of IPv6 without its brackets
  std::uint16_t port = 0;
  std::string socket = {};  ///< the file of a Unix socket; empty: host and port
  std::string
      path;  ///< what requests' paths are put behind; empty, or "/v1" without its last slash

  /// "http://" is put before a text without a scheme; behind "unix:" stands a file, and no path of
  /// requests. invalid_argument for other schemes, user names, queries and what is no host or port.
  static Result<HttpUrl> parse(std::string_view text);

  /// As the Host field has it: with the port where it is not the scheme's own.
  std::string authority() const;
  std::string text() const;
};

/// An address and port as the system's calls take them.
struct SocketAddress {
  int family = 0;     ///< AF_INET, AF_INET6 or AF_UNIX
  std::string bytes;  ///< of a sockaddr_in, sockaddr_in6 or sockaddr_un

  /// "127.0.0.1:8000", "[::1]:8000", "/run/server.sock".
  std::string text() const;
};

/// The host's addresses, in the order in which they are to be tried. Waits for name servers: never
/// to be called while requests run. not_found where there are none, unavailable where nobody could
/// be asked.
Result<std::vector<SocketAddress>> resolve(const HttpUrl& url);

}  // namespace perjoule

#include "net/http_url.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

tl::unexpected<Error> wrong(std::string_view text, const std::string& why) {
  return Error::invalid_argument(why + ": '" + std::string(text) + "'",
                                 "write it like http://localhost:8000");
}

bool is_address(const std::string& host, int family) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(family, host.c_str(), bytes.data()) == 1;
}

bool is_host(const std::string& host) {
  // What ends up in the Host field must not bring a line's end or a space into it.
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return c > ' ' && c < '\x7f' &&
           std::string_view("<>\"\\^`{|}[]%").find(c) == std::string_view::npos;
  });
}

Outcome take_port(std::string_view port, std::string_view text, HttpUrl& url) {
  const auto number = parse_integer(port);
  if (!number || *number < 1 || *number > std::numeric_limits<std::uint16_t>::max())
    return wrong(text, "an address whose port is none (1 to 65535)");
  url.port = static_cast<std::uint16_t>(*number);
  return {};
}

/// Host and port of `place`, which is a part of `text`.
Outcome take_place(std::string_view place, std::string_view text, HttpUrl& url) {
  if (place.empty() || place.front() != '[') {
    const std::size_t colon = std::min(place.find(':'), place.size());
    url.host = place.substr(0, colon);
    if (!is_host(url.host)) return wrong(text, "an address without a host");
    return colon == place.size() ? Outcome() : take_port(place.substr(colon + 1), text, url);
  }
  const std::size_t end = place.find(']');
  if (end == std::string_view::npos) return wrong(text, "an address without its bracket");
  url.host = place.substr(1, end - 1);
  if (!is_address(url.host, AF_INET6)) return wrong(text, "no address of IPv6 in the brackets");
  const std::string_view behind = place.substr(end + 1);
  if (behind.empty()) return {};
  if (behind.front() != ':') return wrong(text, "words behind the bracket");
  return take_port(behind.substr(1), text, url);
}

}  // namespace

Result<HttpUrl> HttpUrl::parse(std::string_view text) {
  HttpUrl url;
  std::string_view rest = trim(text);
  if (starts_with_ignoring_case(rest, "unix:")) {
    url.host = "localhost";
    url.port = kHttpPort;
    url.socket = rest.substr(5);
    if (url.socket.empty() || url.socket.size() >= sizeof(sockaddr_un::sun_path)) {
      return wrong(text, "a socket's path is from 1 to 107 bytes long");
    }
    return url;
  }
  if (const std::size_t end = rest.find("://"); end != std::string_view::npos) {
    const std::string_view scheme = rest.substr(0, end);
    url.is_tls = equals_ignoring_case(scheme, "https");
    if (!url.is_tls && !equals_ignoring_case(scheme, "http"))
      return wrong(text, "an address that is neither http nor https");
    rest.remove_prefix(end + 3);
  }
  url.port = url.is_tls ? kHttpsPort : kHttpPort;
  const std::size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view place = rest.substr(0, slash);
  url.path = rest.substr(slash);
  const bool is_odd = std::any_of(url.path.begin(), url.path.end(), [](char c) {
    return c <= ' ' || c >= '\x7f' || c == '?' || c == '#';
  });
  if (is_odd) return wrong(text, "an address with a query, a fragment or a space");
  while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();
  if (place.find('@') != std::string_view::npos)
    return wrong(text, "an address with a user's name: it would be sent to whoever answers");

  PJ_CHECK(take_place(place, text, url));
  return url;
}

std::string HttpUrl::authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (is_tls ? kHttpsPort : kHttpPort)) text += ":" + std::to_string(port);
  return text;
}

std::string HttpUrl::text() const {
  if (!socket.empty()) return "unix:" + socket;
  return (is_tls ? "https://" : "http://") + authority() + path;
}

std::string SocketAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> words{};
  if (family == AF_UNIX && bytes.size() == sizeof(sockaddr_un)) {
    return bytes.c_str() + offsetof(sockaddr_un, sun_path);  // its path ends with a zero
  }
  if (family == AF_INET6 && bytes.size() >= sizeof(sockaddr_in6)) {
    sockaddr_in6 address{};
    std::memcpy(&address, bytes.data(), sizeof(address));
    ::inet_ntop(family, &address.sin6_addr, words.data(), words.size());
    return "[" + std::string(words.data()) + "]:" + std::to_string(ntohs(address.sin6_port));
  }
  if (family != AF_INET || bytes.size() < sizeof(sockaddr_in)) return "no address";
  sockaddr_in address{};
  std::memcpy(&address, bytes.data(), sizeof(address));
  ::inet_ntop(family, &address.sin_addr, words.data(), words.size());
  return std::string(words.data()) + ":" + std::to_string(ntohs(address.sin_port));
}

Result<std::vector<SocketAddress>> resolve(const HttpUrl& url) {
  if (!url.socket.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, url.socket.data(), url.socket.size());
    return std::vector<SocketAddress>{
        {AF_UNIX, std::string(reinterpret_cast<const char*>(&address), sizeof address)}};
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status =
      ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &wanted, &found);
  if (status == EAI_NONAME)
    return Error::not_found("no such host: " + url.host, "is its name spelt right?");
  if (status != 0)
    return Error::unavailable("looking up " + url.host + ": " + ::gai_strerror(status));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    addresses.push_back({one->ai_family, std::string(reinterpret_cast<const char*>(one->ai_addr),
                                                     one->ai_addrlen)});
  }
  if (addresses.empty()) return Error::not_found("the host has no address: " + url.host);
  return addresses;
}

}  // namespace perjoule

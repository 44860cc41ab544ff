#include "cli/serve_options.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <array>

#include "base/file.h"
#include "base/text.h"
#include "cli/train_jobs.h"
#include "cli/version.h"
#include "client/daemon_socket.h"
#include "store/sqlite_store.h"

namespace perjoule::cli {
namespace {

constexpr std::size_t kMostPem = std::size_t{1} << 20U;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "node";
}

Result<int> port_of_text(std::string_view text, const std::string& what) {
  const auto port = parse_integer(text);
  if (port && *port >= 0 && *port <= 65'535) return static_cast<int>(*port);
  return Error::invalid_argument(what + " has no port from 0 to 65535");
}

/// "0.0.0.0:8470", "[::]:8470".
Result<DaemonOptions::Tcp> tcp_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return Error::invalid_argument("--tcp is no ADDRESS:PORT: " + text);
  }
  DaemonOptions::Tcp tcp;
  PJ_TRY(tcp.port, port_of_text(text.substr(colon + 1), "--tcp " + text));
  tcp.address = text.substr(0, colon);
  if (tcp.address.size() > 2 && tcp.address.front() == '[' && tcp.address.back() == ']') {
    tcp.address = tcp.address.substr(1, tcp.address.size() - 2);
  }
  return tcp;
}

/// "alice=control" with who answers for a name.
template <typename Find>
Outcome add_role(const std::string& option, const std::string& text,
                 std::map<std::uint32_t, Role>& roles, const Find& find) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return Error::invalid_argument("--" + option + " is no NAME=ROLE: " + text);
  }
  const std::string name = text.substr(0, equals);
  PJ_TRY(const Role role, parse_role(text.substr(equals + 1)));
  const auto number = parse_integer(name);
  constexpr std::int64_t kMostId = 0xffff'fffe;  // the one above stands for none
  if (number && *number >= 0 && *number <= kMostId) {
    roles[static_cast<std::uint32_t>(*number)] = role;
    return {};
  }
  const std::optional<std::uint32_t> id = find(name);
  if (!id) return Error::not_found("--" + option + ": nobody here is called " + name);
  roles[*id] = role;
  return {};
}

std::optional<std::uint32_t> user_named(const std::string& name) {
  const passwd* const found = ::getpwnam(name.c_str());
  return found == nullptr ? std::nullopt : std::optional<std::uint32_t>(found->pw_uid);
}

std::optional<std::uint32_t> group_named(const std::string& name) {
  const group* const found = ::getgrnam(name.c_str());
  return found == nullptr ? std::nullopt : std::optional<std::uint32_t>(found->gr_gid);
}

Result<LocalRoles> local_roles(const Arguments& arguments) {
  LocalRoles roles;
  for (const std::string& text : arguments.values("user-role")) {
    PJ_CHECK(add_role("user-role", text, roles.users, user_named));
  }
  for (const std::string& text : arguments.values("group-role")) {
    PJ_CHECK(add_role("group-role", text, roles.groups, group_named));
  }
  PJ_TRY(roles.others, parse_role(arguments.value("others")));
  return roles;
}

Result<std::optional<ServerIdentity>> identity_of(const Arguments& arguments) {
  const std::string certificate = arguments.value("tls-certificate");
  const std::string key = arguments.value("tls-key");
  if (certificate.empty() && key.empty()) return std::optional<ServerIdentity>();
  if (certificate.empty() || key.empty()) {
    return Error::invalid_argument("--tls-certificate and --tls-key go together");
  }
  ServerIdentity identity;
  PJ_TRY(identity.certificate, read_file(certificate, kMostPem));
  PJ_TRY(identity.key, read_file(key, kMostPem));
  return std::optional(std::move(identity));
}

/// Where the socket's folder is ours to make.
Outcome make_socket_folder(const std::string& socket) {
  const std::size_t slash = socket.rfind('/');
  return slash == std::string::npos || slash == 0 ? Outcome()
                                                  : make_folders(socket.substr(0, slash));
}

Result<double> rate_of(const Arguments& arguments, std::string_view name) {
  const auto rate = parse_number(arguments.value(name));
  if (rate && *rate >= 0 && *rate <= 1e9) return *rate;
  return Error::invalid_argument(
      fmt::format("--{} is no rate of requests a second: {}", name, arguments.value(name)));
}

}  // namespace

std::vector<Option> serve_options() {
  return {
      {"name", "NAME", "the node's name for others; the host's when not given"},
      {"socket", "PATH",
       "the Unix socket; /run/perjoule/perjoule.sock for root, else in the user's runtime folder; "
       "none: no socket"},
      {"zeusd", "PATH",
       "a second Unix socket, with the routes of Zeus's privileged daemon for its clients"},
      {"tcp", "ADDRESS:PORT", "listen there, for those who have a token", "", true},
      {"tokens", "FILE", "the tokens, as perjoule token makes them"},
      {"tls-certificate", "FILE", "PEM, with those it is signed by: TLS on --tcp"},
      {"tls-key", "FILE", "its key"},
      {"open-loopback", "PORT",
       "anyone on this machine may read at 127.0.0.1 and ::1, without a token; 0 takes any port"},
      {"user-role", "USER=ROLE", "on the Unix socket: read, control, admin or none", "", true},
      {"group-role", "GROUP=ROLE", "likewise, by a process's main group", "", true},
      {"others", "ROLE", "of all other users of this machine", "read"},
      {"user", "NAME",
       "whom the daemon becomes when root has opened its meters; a helper keeps the right to turn "
       "knobs"},
      {"every", "TIME", "between two looks", "1s"},
      {"store", "PATH", "of the runs and jobs; the user's own when not given"},
      {"documents", "FOLDER", "what verbs wrote there with --json is shown"},
      {"audit", "FILE", "who changed what, and who was refused, is appended there"},
      {"read-rate", "N", "requests a second of each who asks; 0: any number", "5000"},
      {"change-rate", "N", "those that change something", "50"},
  };
}

Result<DaemonOptions> daemon_options(const Arguments& arguments) {
  DaemonOptions options;
  options.version = options.node.version = version();
  options.node.name = arguments.has("name") ? arguments.value("name") : host_name();
  PJ_TRY(const auto every, arguments.read<Seconds>("every", parse_seconds));
  if (every->value() < 0.05 || every->value() > 15) {
    return Error::invalid_argument("--every " + arguments.value("every") +
                                   ": outside 50 ms to 15 s");
  }
  options.node.every = *every;
  options.node.procfs = Roots::from_environment().procfs;
  options.socket = arguments.has("socket") ? arguments.value("socket") : own_socket_path();
  if (options.socket == "none") options.socket.clear();
  options.zeusd = arguments.value("zeusd");
  if (!options.zeusd.empty() && options.zeusd == options.socket) {
    return Error::invalid_argument("--zeusd and --socket are one path: " + options.zeusd);
  }
  for (const std::string& text : arguments.values("tcp")) {
    PJ_TRY(options.tcp.emplace_back(), tcp_of(text));
  }
  options.tokens = arguments.value("tokens");
  if (!options.tcp.empty() && options.tokens.empty()) {
    return Error::invalid_argument("--tcp needs --tokens: nobody may ask without one",
                                   "perjoule token add --file FILE --name NAME");
  }
  PJ_TRY(options.identity, identity_of(arguments));
  if (arguments.has("open-loopback")) {
    PJ_TRY(options.open_loopback,
           port_of_text(arguments.value("open-loopback"), "--open-loopback"));
  }
  PJ_TRY(options.local, local_roles(arguments));
  options.audit = arguments.value("audit");
  options.documents = arguments.value("documents");
  if (!options.documents.empty() && !is_folder(options.documents)) {
    return Error::not_found("--documents: no folder " + options.documents);
  }
  const std::string store =
      arguments.has("store") ? arguments.value("store") : default_store_path();
  options.open_store = [store] { return SqliteStore::open(store, StoreAccess::kRead); };
  options.open_jobs = [store] { return open_jobs(store); };
  PJ_TRY(options.limits.reads.per_second, rate_of(arguments, "read-rate"));
  PJ_TRY(options.limits.changes.per_second, rate_of(arguments, "change-rate"));
  options.limits.reads.burst = 2 * options.limits.reads.per_second + 1;
  options.limits.changes.burst = 2 * options.limits.changes.per_second + 1;
  options.server = {.body_bytes = std::size_t{1} << 20U,
                    .request_time = Seconds(10),
                    .connections_of_an_address = 2048,
                    .threads = 2};
  for (const std::string& socket : {options.socket, options.zeusd}) {
    if (!socket.empty()) PJ_CHECK(make_socket_folder(socket));
  }
  if (options.socket.empty() && options.tcp.empty() && !options.open_loopback) {
    return Error::invalid_argument("--socket none: then nobody can ask anything",
                                   "give --tcp or --open-loopback");
  }
  return options;
}

}  // namespace perjoule::cli

// One thing the daemon answers: its address, who may ask, what it takes, what it gives, and how.
// Router, parameter checks, OpenAPI and its test all read this.
//
//   {.method = "GET", .pattern = "/api/v1/runs/{id}", .role = Role::kRead, .summary = "one run",
//    .answer = "perjoule.run.v1", .handle = [&](const Call& call) { return run(call.captured[0]);
//    }}
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "net/http_server.h"
#include "net/http_target.h"
#include "server/http/principal.h"

namespace perjoule {

/// A parameter of the query; those of the path are the pattern's braces.
struct RouteParameter {
  enum class Kind { kText, kInteger, kNumber, kBoolean };
  std::string name = {};
  Kind kind = Kind::kText;
  std::string help = {};
  bool required = false;
};

struct Route;

/// A request that has found its route: who asks, and what with, checked.
struct Call {
  const Route& route;
  const ServerRequest& request;
  const HttpTarget& target;
  const Principal& principal;
  std::vector<std::string> captured;  ///< what stands for the pattern's braces, in their order
  Json body;                          ///< null where the route takes none

  /// Of the query; nothing where it is not given.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
};

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<HttpField> fields = {};

  static Reply json(const Json& document, int status = 200);
};

/// Who is told that a stream's client has gone.
class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  virtual void ended(const ServerExchange& exchange) = 0;
};

struct Route {
  std::string method = "GET";
  std::string pattern = {};  ///< "/api/v1/runs/{id}"
  Role role = Role::kRead;
  std::string summary = {};
  std::vector<RouteParameter> parameters = {};
  std::string body = {};      ///< schema of the JSON it takes; empty: none
  std::size_t most_body = 0;  ///< bytes; 0: as the server's limits have it
  bool is_often = false;      ///< however it changes something, asked as often as others read
  std::string answer = {};    ///< schema of what it gives; empty: not JSON
  std::string answer_type = "application/json";
  std::string error = "perjoule.error.v1";  ///< schema of what it refuses with
  bool is_slow = false;  ///< it may wait for a disk or another machine: done by a worker

  std::function<Result<Reply>(const Call&)> handle = {};
  /// Instead of handle: keeps the exchange, whose end `owner` is told.
  std::function<Outcome(const Call&, std::shared_ptr<ServerExchange>)> stream = {};
  StreamOwner* owner = nullptr;
};

/// {"schema":"perjoule.error.v1","error":{"code","message","remedy"}}.
Json error_document(const Error& error);
/// 400 for invalid_argument, 404 for not_found, and so on.
int status_of(ErrorCode code);
Reply error_reply(const Error& error);

}  // namespace perjoule

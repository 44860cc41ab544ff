#include "server/http/router.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"

namespace perjoule {
namespace {

bool is_capture(std::string_view segment) { return segment.size() > 2 && segment.front() == '{'; }

std::vector<std::string> cut(std::string_view pattern) {
  std::vector<std::string> segments;
  if (pattern == "/") return segments;
  for (const std::string_view part : split(pattern.substr(1), '/')) segments.emplace_back(part);
  return segments;
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& segments,
             std::vector<std::string>& captured) {
  if (pattern.size() != segments.size()) return false;
  captured.clear();
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_capture(pattern[i])) {
      if (segments[i].empty()) return false;
      captured.push_back(segments[i]);
    } else if (pattern[i] != segments[i]) {
      return false;
    }
  }
  return true;
}

Outcome check_kind(const RouteParameter& parameter, const std::string& value) {
  const bool fits =
      parameter.kind == RouteParameter::Kind::kText ||
      (parameter.kind == RouteParameter::Kind::kInteger && parse_integer(value).has_value()) ||
      (parameter.kind == RouteParameter::Kind::kNumber && parse_number(value).has_value()) ||
      (parameter.kind == RouteParameter::Kind::kBoolean && (value == "true" || value == "false"));
  if (fits) return {};
  const std::string_view what = parameter.kind == RouteParameter::Kind::kInteger ? "no whole number"
                                : parameter.kind == RouteParameter::Kind::kBoolean
                                    ? "neither true nor false"
                                    : "no number";
  return Error::invalid_argument("the parameter " + parameter.name + " is " + std::string(what) +
                                 ": " + value);
}

Outcome check_parameters(const Route& route, const HttpTarget& target) {
  std::set<std::string> seen;
  for (const HttpField& given : target.parameters) {
    const auto known = std::find_if(route.parameters.begin(), route.parameters.end(),
                                    [&](const auto& one) { return one.name == given.name; });
    if (known == route.parameters.end()) {
      std::string names;
      for (const RouteParameter& one : route.parameters) names += " " + one.name;
      return Error::invalid_argument(route.pattern + " has no parameter " + given.name,
                                     names.empty() ? "it has none" : "it has:" + names);
    }
    if (!seen.insert(given.name).second) {
      return Error::invalid_argument("the parameter " + given.name + " is given twice");
    }
    PJ_CHECK(check_kind(*known, given.value));
  }
  for (const RouteParameter& one : route.parameters) {
    if (one.required && seen.count(one.name) == 0) {
      return Error::invalid_argument("the parameter " + one.name + " is missing");
    }
  }
  return {};
}

Result<Json> body_of(const Route& route, const ServerRequest& request) {
  if (route.body.empty()) {
    if (request.body.empty()) return Json();
    return Error::invalid_argument(route.method + " " + route.pattern + " takes no body");
  }
  auto body = parse_json(request.body);
  if (!body) return fail(body, "the request's body");
  if (!body->is_object()) return Error::invalid_argument("the request's body is no JSON object");
  return body;
}

Reply with_status(int status, const Error& error, std::vector<HttpField> fields = {}) {
  Reply reply = Reply::json(error_document(error), status);
  reply.fields = std::move(fields);
  return reply;
}

Reply not_known(const Error& error) {
  return with_status(401, error, {{"WWW-Authenticate", "Bearer error=\"invalid_token\""}});
}

Reply not_allowed(const Route& route, const Principal& who) {
  Error error{ErrorCode::kPermissionDenied,
              route.method + " " + route.pattern + " needs the role " +
                  std::string(name_of(route.role)) + "; " + who.name + " has " +
                  std::string(name_of(who.role)),
              {}};
  if (who.role != Role::kNone) return with_status(403, error);
  error.remedy = "send a token: Authorization: Bearer TOKEN";
  return with_status(401, error, {{"WWW-Authenticate", "Bearer"}});
}

Reply too_often(const Principal& who, Seconds wait) {
  const long seconds = std::lround(std::ceil(std::max(1.0, wait.value())));
  return with_status(
      429, {ErrorCode::kUnavailable, who.name + " asks too often", "wait " + to_text(wait, 2)},
      {{"Retry-After", std::to_string(seconds)}});
}

}  // namespace

namespace {

/// The machine, or the user of this one.
std::string origin_of(const HttpPeer& peer) {
  if (peer.process) return "user:" + std::to_string(peer.process->uid);
  return peer.address.substr(0, peer.address.rfind(':'));
}

}  // namespace

Call Router::Admitted::call(const ServerRequest& request) const {
  return {*route, request, target, who, captured, body};
}

tl::unexpected<Router::Refused> Router::refused(Reply reply, Principal who, bool is_audited) {
  return tl::unexpected<Refused>({std::move(who), is_audited, std::move(reply)});
}

Router::Router(std::shared_ptr<const Gate> gate, const Clock& clock, const Limits& limits,
               AuditLog audit)
    : clock_(clock),
      reads_(limits.reads),
      changes_(limits.changes),
      audit_(std::move(audit)),
      gate_(std::move(gate)),
      workers_(limits.workers, limits.most_waiting) {}

void Router::add(std::vector<Route> routes) {
  for (Route& route : routes) {
    patterns_.push_back(cut(route.pattern));
    routes_.push_back(std::move(route));
  }
}

void Router::change_gate(std::shared_ptr<const Gate> gate) {
  const std::lock_guard lock(mutex_);
  gate_ = std::move(gate);
}

void Router::end_streams_of_others() {
  std::vector<std::shared_ptr<ServerExchange>> over;
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = clock_.unix_ns() / 1'000'000'000;
    for (const auto& [key, stream] : streams_) {
      const auto who = gate_->admit(stream.request, now);
      if (who && who->role >= stream.role) continue;
      if (auto exchange = stream.exchange.lock()) over.push_back(std::move(exchange));
    }
  }
  for (const auto& exchange : over) exchange->end(false);
}

Router::Admission Router::address(const ServerRequest& request) const {
  auto target = HttpTarget::parse(request.target);
  if (!target) return refused(error_reply(target.error()));
  Admitted admitted{.target = std::move(*target)};
  std::string allowed;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const Route& route = routes_[i];
    if (!matches(patterns_[i], admitted.target.segments, admitted.captured)) continue;
    // HEAD is answered as GET, without its body.
    if (route.method == request.method || (route.method == "GET" && request.method == "HEAD")) {
      admitted.route = &route;
      return admitted;
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  const std::string& path = admitted.target.path;
  if (allowed.empty())
    return refused(error_reply({ErrorCode::kNotFound, "there is no " + path + " here", {}}));
  return refused(with_status(405,
                             {ErrorCode::kInvalidArgument,
                              path + " does not take " + request.method, "it takes " + allowed},
                             {{"Allow", allowed}}));
}

std::optional<Reply> Router::authorise(const ServerRequest& request, Admitted& admitted) {
  std::shared_ptr<const Gate> gate;
  {
    const std::lock_guard lock(mutex_);
    gate = gate_;
  }
  const Route& route = *admitted.route;
  auto who = gate->admit(request, clock_.unix_ns() / 1'000'000'000);
  if (!who) return not_known(who.error());
  admitted.who = std::move(*who);
  if (admitted.who.role < route.role) return not_allowed(route, admitted.who);
  if (route.role == Role::kNone) return std::nullopt;
  RateLimit& limit = route.role > Role::kRead && !route.is_often ? changes_ : reads_;
  const Seconds wait = limit.take(admitted.who.name, clock_.now());
  if (wait > Seconds(0)) return too_often(admitted.who, wait);
  return std::nullopt;
}

Router::Admission Router::admit(const ServerRequest& request) {
  Admission admission = address(request);
  if (!admission) return admission;
  Admitted& admitted = *admission;
  const Route& route = *admitted.route;
  if (auto reply = authorise(request, admitted)) {
    // Who is refused again and again is neither written down nor argued with each time.
    const Seconds wait = refusals_.take(origin_of(request.peer), clock_.now());
    if (wait > Seconds(0)) {
      return refused(too_often({.name = "a client without the right to"}, wait));
    }
    return refused(std::move(*reply), std::move(admitted.who), true);
  }
  const bool changes = route.role > Role::kRead;
  if (const auto fits = check_parameters(route, admitted.target); !fits) {
    return refused(error_reply(fits.error()), std::move(admitted.who), changes);
  }
  auto body = body_of(route, request);
  if (!body) return refused(error_reply(body.error()), std::move(admitted.who), changes);
  admitted.body = std::move(*body);
  return admission;
}

void Router::handle(const ServerRequest& request, std::shared_ptr<ServerExchange> exchange) {
  Admission admission = admit(request);
  if (!admission) {
    Refused& refusal = admission.error();
    return give(request, refusal.who, refusal.is_audited, std::move(refusal.reply), *exchange);
  }
  const Route& route = *admission->route;
  if (route.stream) return begin_stream(request, *admission, std::move(exchange));
  if (!route.is_slow) return answer(request, *admission, *exchange);
  // The request is the server's: what a worker reads later is its own.
  const auto waiting =
      std::make_shared<std::pair<ServerRequest, Admitted>>(request, std::move(*admission));
  const bool taken = workers_.post(
      [this, waiting, exchange] { answer(waiting->first, waiting->second, *exchange); });
  if (taken) return;
  give(request, waiting->second.who, route.role > Role::kRead,
       with_status(503, {ErrorCode::kUnavailable, "too much waits to be done", "ask again"},
                   {{"Retry-After", "1"}}),
       *exchange);
}

void Router::answer(const ServerRequest& request, const Admitted& admitted,
                    ServerExchange& exchange) {
  const Route& route = *admitted.route;
  auto reply = route.handle(admitted.call(request));
  give(request, admitted.who, route.role > Role::kRead,
       reply ? std::move(*reply) : error_reply(reply.error()), exchange);
}

void Router::begin_stream(const ServerRequest& request, const Admitted& admitted,
                          std::shared_ptr<ServerExchange> exchange) {
  const Route& route = *admitted.route;
  ServerExchange& its = *exchange;
  {
    const std::lock_guard lock(mutex_);
    streams_[exchange.get()] = {route.owner, route.role, request, exchange};
  }
  const auto begun = route.stream(admitted.call(request), std::move(exchange));
  if (!begun) return give(request, admitted.who, false, error_reply(begun.error()), its);
  const std::lock_guard lock(mutex_);
  ++answers_[200];
}

void Router::give(const ServerRequest& request, const Principal& who, bool is_audited, Reply reply,
                  ServerExchange& exchange) {
  if (is_audited) audit_.add(clock_.unix_ns(), who, request, reply.status);
  {
    const std::lock_guard lock(mutex_);
    ++answers_[reply.status];
  }
  reply.fields.push_back({"X-Content-Type-Options", "nosniff"});
  if (reply.content_type == "application/json")
    reply.fields.push_back({"Cache-Control", "no-store"});
  exchange.answer({.status = reply.status,
                   .content_type = std::move(reply.content_type),
                   .fields = std::move(reply.fields)},
                  std::move(reply.body));
}

void Router::ended(const ServerExchange& exchange) {
  StreamOwner* owner = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(&exchange);
    if (found == streams_.end()) return;
    owner = found->second.owner;
    streams_.erase(found);
  }
  owner->ended(exchange);
}

std::size_t Router::most_body(const ServerRequest& request) const {
  const Admission admission = address(request);
  if (!admission || admission->route->most_body == 0) return 0;
  std::shared_ptr<const Gate> gate;
  {
    const std::lock_guard lock(mutex_);
    gate = gate_;
  }
  const auto who = gate->admit(request, clock_.unix_ns() / 1'000'000'000);
  return who && who->role >= admission->route->role ? admission->route->most_body : 0;
}

std::string Router::refusal(int status, std::string_view why) const {
  const ErrorCode code = status == 413 ? ErrorCode::kOutOfRange : ErrorCode::kInvalidArgument;
  return error_document({code, std::string(why), {}}).dump() + "\n";
}

std::map<int, std::uint64_t> Router::answers() const {
  const std::lock_guard lock(mutex_);
  return answers_;
}

}  // namespace perjoule

#include "server/knobs/lease_routes.h"

#include <algorithm>

namespace perjoule {
namespace {

constexpr Seconds kUsualLength{60};

Result<Seconds> length_in(const Json& body) {
  const Json* const given = body.find("seconds");
  if (given == nullptr) return kUsualLength;
  const auto seconds = given->as_number();
  if (!seconds) return Error::invalid_argument("\"seconds\" is no number");
  return Seconds(*seconds);
}

Result<std::string> text_in(const Json& body, std::string_view name) {
  constexpr std::size_t kLongest = 512;
  const auto text = body.string(name);
  if (text && text->size() > kLongest) {
    return Error::invalid_argument("\"" + std::string(name) + "\" is longer than 512 bytes");
  }
  if (text && !text->empty()) return *text;
  return Error::invalid_argument("\"" + std::string(name) + "\" is missing, or no text");
}

Outcome check_members(const Json& body, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : *body.as_object()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Error::invalid_argument("a lease has no member \"" + name + "\"");
    }
  }
  return {};
}

Result<Reply> take(LeaseBook& book, const Clock& clock, const Call& call) {
  PJ_CHECK(check_members(call.body, {"knob", "value", "seconds", "purpose"}));
  LeaseBook::Request request;
  PJ_TRY(request.knob, text_in(call.body, "knob"));
  PJ_TRY(request.value, text_in(call.body, "value"));
  PJ_TRY(request.length, length_in(call.body));
  if (call.body.find("purpose") != nullptr) {
    PJ_TRY(request.purpose, text_in(call.body, "purpose"));
  }
  request.owner = call.principal.name;
  PJ_TRY(const Lease lease, book.take(request));
  Reply reply = Reply::json(to_json(lease, clock.now()), 201);
  reply.fields.push_back({"Location", "/api/v1/leases/" + lease.id});
  return reply;
}

Result<Reply> renew(LeaseBook& book, const Clock& clock, const Call& call) {
  PJ_CHECK(check_members(call.body, {"value", "seconds"}));
  std::optional<std::string> value;
  if (call.body.find("value") != nullptr) {
    PJ_TRY(value, text_in(call.body, "value"));
  }
  PJ_TRY(const Seconds length, length_in(call.body));
  PJ_TRY(const Lease lease, book.renew(call.captured[0], call.principal.name, value, length));
  return Reply::json(to_json(lease, clock.now()));
}

Result<Reply> give_back(LeaseBook& book, const Call& call) {
  PJ_CHECK(
      book.give_back(call.captured[0], call.principal.name, call.principal.role == Role::kAdmin));
  return Reply{.status = 204, .content_type = ""};
}

Reply list(const LeaseBook& book, const Clock& clock) {
  Json json = Json::object();
  json["schema"] = "perjoule.leases.v1";
  json["leases"] = Json::array();
  for (const Lease& lease : book.all()) json["leases"].push_back(to_json(lease, clock.now()));
  return Reply::json(json);
}

}  // namespace

std::vector<Route> lease_routes(LeaseBook& book, const Clock& clock) {
  std::vector<Route> routes;
  routes.push_back({.pattern = "/api/v1/leases",
                    .summary = "Knobs on loan",
                    .answer = "perjoule.leases.v1",
                    .is_slow = true,
                    .handle = [&](const Call&) -> Result<Reply> { return list(book, clock); }});
  routes.push_back({.pattern = "/api/v1/leases/{id}",
                    .summary = "One lease",
                    .answer = "perjoule.lease.v1",
                    .is_slow = true,
                    .handle = [&](const Call& call) -> Result<Reply> {
                      PJ_TRY(const Lease lease, book.find(call.captured[0]));
                      return Reply::json(to_json(lease, clock.now()));
                    }});
  routes.push_back(
      {.method = "POST",
       .pattern = "/api/v1/leases",
       .role = Role::kControl,
       .summary = "Turn a knob until the lease ends; it is then put back as it was found",
       .body = "perjoule.lease-request",
       .answer = "perjoule.lease.v1",
       .is_slow = true,
       .handle = [&](const Call& call) { return take(book, clock, call); }});
  routes.push_back({.method = "PUT",
                    .pattern = "/api/v1/leases/{id}",
                    .role = Role::kControl,
                    .summary = "Another end from now on, and another value where one is given",
                    .body = "perjoule.lease-renewal",
                    .answer = "perjoule.lease.v1",
                    .is_slow = true,
                    .handle = [&](const Call& call) { return renew(book, clock, call); }});
  routes.push_back({.method = "DELETE",
                    .pattern = "/api/v1/leases/{id}",
                    .role = Role::kControl,
                    .summary = "Put the knob back now",
                    .is_slow = true,
                    .handle = [&](const Call& call) { return give_back(book, call); }});
  return routes;
}

}  // namespace perjoule

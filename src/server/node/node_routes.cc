#include "server/node/node_routes.h"

#include "meter/machine_json.h"

namespace perjoule {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;

Result<Reply> describe(const Node& node) {
  Json json = Json::object();
  json["schema"] = "perjoule.node.v1";
  json["node"] = node.options().name;
  json["version"] = node.options().version;
  json["simulated"] = node.is_simulated();
  json["began_unix_ms"] = node.began_unix_ms();
  json["devices"] = devices_json(node.machine(), node.options().calibrations);
  json["problems"] = problems_json(node.machine().problems);
  return Reply::json(json);
}

Result<Reply> history(const Node& node, const Call& call) {
  const auto picture = node.latest();
  const std::int64_t now = picture == nullptr ? node.began_unix_ms() : picture->unix_ms;
  const std::int64_t to = call.integer("to").value_or(now + 1);
  const std::int64_t from = call.integer("from").value_or(std::max<std::int64_t>(0, to - kHourMs));
  const std::int64_t points = call.integer("points").value_or(800);
  if (points < 1)
    return Error::invalid_argument("points is not from 1 to 20000: " + std::to_string(points));
  const std::string source = call.text("source").value_or("total");
  PJ_TRY(const PowerPart part,
         node.history().part(source, from, to, points < 1 ? 0 : static_cast<std::size_t>(points)));
  return Reply::json(to_json(part, "perjoule.history.v1", source));
}

Outcome listen(Node& node, const Call& call, std::shared_ptr<ServerExchange> exchange) {
  const std::string_view last = call.request.field("Last-Event-ID");
  return node.live().join(std::move(exchange), node.live().number_of(last));
}

}  // namespace

std::vector<Route> node_routes(Node& node) {
  using Kind = RouteParameter::Kind;
  std::vector<Route> routes;
  routes.push_back({.pattern = "/api/v1/node",
                    .summary = "What this machine is made of, can tell and obeys",
                    .answer = "perjoule.node.v1",
                    .is_slow = true,  // knobs are read from drivers
                    .handle = [&node](const Call&) { return describe(node); }});
  routes.push_back(
      {.pattern = "/api/v1/node/live",
       .summary =
           "Its power each second, as server-sent events named picture (perjoule.picture.v1)",
       .stream =
           [&node](const Call& call, std::shared_ptr<ServerExchange> exchange) {
             return listen(node, call, std::move(exchange));
           },
       .owner = &node.live()});
  routes.push_back({.pattern = "/api/v1/node/picture",
                    .summary = "Its power in the last second",
                    .answer = "perjoule.picture.v1",
                    .handle = [&node](const Call&) -> Result<Reply> {
                      const auto picture = node.latest();
                      if (picture == nullptr) {
                        return Error::unavailable("the first second is not over", "ask again");
                      }
                      return Reply::json(picture_document(*picture));
                    }});
  routes.push_back(
      {.pattern = "/api/v1/node/history",
       .summary = "Its power over hours, days and months, in even steps",
       .parameters = {{"source", Kind::kText, "a device, or total, which it is when not given"},
                      {"from", Kind::kInteger, "milliseconds since 1970; an hour before `to`"},
                      {"to", Kind::kInteger, "milliseconds since 1970; now"},
                      {"points", Kind::kInteger, "at most so many steps; 800"}},
       .answer = "perjoule.history.v1",
       .handle = [&node](const Call& call) { return history(node, call); }});
  return routes;
}

}  // namespace perjoule

#include "server/services/pipeline_routes.h"

namespace perjoule {
namespace {

/// A first rank's report of a long schedule is long.
constexpr std::size_t kMostQuestion = std::size_t{64} << 20U;

Json pipeline_document(const std::string& id) {
  Json json = Json::object();
  json["schema"] = "perjoule.pipeline.v1";
  json["id"] = id;
  return json;
}

Result<Reply> make(Pipelines& pipelines, const Call& call) {
  PJ_TRY(const std::string id, pipelines.make(call.body));
  Reply reply = Reply::json(pipeline_document(id), 201);
  reply.fields.push_back({"Location", "/api/v1/pipelines/" + id});
  return reply;
}

Reply list(const Pipelines& pipelines) {
  Json json = Json::object();
  json["schema"] = "perjoule.pipelines.v1";
  json["pipelines"] = Json::array();
  for (const std::string& id : pipelines.ids()) json["pipelines"].push_back(id);
  return Reply::json(json);
}

Result<Reply> as_reply(const Result<Json>& answer) {
  if (!answer) return fail(answer);
  return Reply::json(*answer);
}

}  // namespace

std::vector<Route> pipeline_routes(Pipelines& pipelines) {
  std::vector<Route> routes;
  routes.push_back({.pattern = "/api/v1/pipelines",
                    .summary = "Pipeline trainings that are asked about here",
                    .answer = "perjoule.pipelines.v1",
                    .handle = [&](const Call&) -> Result<Reply> { return list(pipelines); }});
  routes.push_back({.method = "POST",
                    .pattern = "/api/v1/pipelines",
                    .role = Role::kControl,
                    .summary = "Plan for a training's ranks, which measure themselves",
                    .body = "perjoule.pipeline-definition",
                    .answer = "perjoule.pipeline.v1",
                    .is_slow = true,
                    .handle = [&](const Call& call) { return make(pipelines, call); }});
  routes.push_back(
      {.pattern = "/api/v1/pipelines/{id}",
       .summary = "What a training's iterations took, and what its plans saved",
       .answer = "perjoule.pipeline-run.v1",
       .is_slow = true,
       .handle = [&](const Call& call) { return as_reply(pipelines.status(call.captured[0])); }});
  routes.push_back({.method = "POST",
                    .pattern = "/api/v1/pipelines/{id}/ask",
                    .role = Role::kControl,
                    .summary = "What a rank asks: join, next, leave, status",
                    .body = "perjoule.pipeline-question",
                    .most_body = kMostQuestion,
                    .is_often = true,
                    .answer = "perjoule.pipeline-answer",
                    .is_slow = true,
                    .handle = [&](const Call& call) {
                      return as_reply(
                          pipelines.ask(call.captured[0], call.principal.name, call.body));
                    }});
  routes.push_back({.method = "POST",
                    .pattern = "/api/v1/pipelines/{id}/straggler",
                    .role = Role::kControl,
                    .summary = "A pipeline keeps the others waiting, or does so no more",
                    .body = "perjoule.pipeline-straggler",
                    .answer = "perjoule.pipeline-answer",
                    .is_slow = true,
                    .handle = [&](const Call& call) {
                      return as_reply(pipelines.straggler(call.captured[0], call.body));
                    }});
  routes.push_back({.method = "DELETE",
                    .pattern = "/api/v1/pipelines/{id}",
                    .role = Role::kControl,
                    .summary = "Forget a training",
                    .is_slow = true,
                    .handle = [&](const Call& call) -> Result<Reply> {
                      PJ_CHECK(pipelines.erase(call.captured[0]));
                      return Reply{.status = 204, .content_type = ""};
                    }});
  return routes;
}

}  // namespace perjoule

#include "pipeline/runtime/plan_server.h"

namespace perjoule {

Result<std::unique_ptr<PlanServer>> PlanServer::start(const std::string& path, PlanService& service,
                                                      RankLost lost) {
  std::unique_ptr<PlanServer> server(new PlanServer(service, std::move(lost)));
  PJ_TRY(server->server_, LineServer::listen(path, server->questions_));
  return server;
}

Result<Json> ask_plan_server(LineClient& client, const Json& question, Seconds patience) {
  PJ_TRY(const std::string line, client.ask(question.dump(), patience));
  PJ_TRY(Json answer, parse_json(line));
  if (const auto error = error_of(answer)) return tl::unexpected<Error>(*error);
  return answer;
}

}  // namespace perjoule

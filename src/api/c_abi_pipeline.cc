// The part of the C interface that ranks of a pipeline use.
#include <cstdlib>

#include "api/c_abi_parts.h"
#include "api/guard.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "net/line_socket.h"
#include "pipeline/runtime/plan_server.h"
#include "pipeline/runtime/rank_agent.h"

using perjoule::Error;
using perjoule::guard;
using perjoule::Outcome;
using perjoule::c_abi::need;
using perjoule::c_abi::taken;

struct pj_pipeline {
  perjoule::RealClock clock;
  std::unique_ptr<perjoule::RankAgent> agent;
};

namespace {

constexpr perjoule::Seconds kPatience{10};

perjoule::Result<std::string> server_of(const char* given) {
  std::string path = given != nullptr ? given : perjoule::environment("PERJOULE_PIPELINE");
  if (!path.empty()) return path;
  return Error::not_found("no plan server is named",
                          "train under perjoule pipeline run, which sets PERJOULE_PIPELINE");
}

Outcome tell_straggler(const char* server, int32_t pipeline, perjoule::Json call) {
  PJ_TRY(const std::string path, server_of(server));
  PJ_TRY(perjoule::LineClient client, perjoule::LineClient::connect(path, kPatience));
  call["call"] = "straggle";
  call["pipeline"] = pipeline;
  PJ_TRY(const perjoule::Json answer, perjoule::ask_plan_server(client, call, kPatience));
  return {};
}

}  // namespace

pj_status pj_pipeline_join(pj_session* session, const pj_pipeline_options* options,
                           pj_pipeline** rank) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(session, "session"));
    PJ_CHECK(need(rank, "rank"));
    *rank = nullptr;
    PJ_TRY(const pj_pipeline_options given, taken(options));
    perjoule::RankOptions chosen;
    chosen.pipeline = given.pipeline;
    chosen.stage = given.stage;
    chosen.tensor = given.tensor;
    if (given.device != nullptr) chosen.device = given.device;
    PJ_TRY(chosen.sync, perjoule::c_abi::sync_of(given));
    PJ_TRY(const std::string server, server_of(given.server));
    PJ_TRY(auto link, perjoule::connect_plan_link(server));
    auto joined = std::make_unique<pj_pipeline>();
    PJ_TRY(joined->agent, perjoule::RankAgent::join(session->session->machine(), joined->clock,
                                                    std::move(link), chosen));
    *rank = joined.release();
    return {};
  });
}

pj_status pj_pipeline_begin_iteration(pj_pipeline* rank) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(rank, "rank"));
    return rank->agent->begin_iteration();
  });
}

pj_status pj_pipeline_begin(pj_pipeline* rank, const char* instruction, int32_t microbatch,
                            int32_t chunk) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(rank, "rank"));
    PJ_CHECK(need(instruction, "instruction"));
    return rank->agent->begin(instruction, microbatch, chunk);
  });
}

pj_status pj_pipeline_end(pj_pipeline* rank) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(rank, "rank"));
    return rank->agent->end();
  });
}

pj_status pj_pipeline_end_iteration(pj_pipeline* rank) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(rank, "rank"));
    return rank->agent->end_iteration();
  });
}

int64_t pj_pipeline_epoch(const pj_pipeline* rank) {
  return rank == nullptr ? -1 : rank->agent->epoch();
}

pj_status pj_pipeline_leave(pj_pipeline* rank) {
  const std::unique_ptr<pj_pipeline> owned(rank);
  return guard([&]() -> Outcome { return rank == nullptr ? Outcome() : rank->agent->leave(); });
}

pj_status pj_straggler_begin(const char* server, int32_t pipeline, double slowdown) {
  return guard([&]() -> Outcome {
    perjoule::Json call = perjoule::Json::object();
    call["slowdown"] = slowdown;
    return tell_straggler(server, pipeline, std::move(call));
  });
}

pj_status pj_straggler_end(const char* server, int32_t pipeline) {
  return guard([&]() -> Outcome {
    perjoule::Json call = perjoule::Json::object();
    call["over"] = true;
    return tell_straggler(server, pipeline, std::move(call));
  });
}

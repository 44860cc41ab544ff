#include "server/services/job_routes.h"

namespace perjoule {
namespace {

using Ask = std::function<Result<Json>(JobCalls&, const Call&)>;

Route reading(const OpenJobs& open, const char* pattern, const char* summary, const char* answer,
              Ask ask) {
  return {.pattern = pattern,
          .summary = summary,
          .answer = answer,
          .is_slow = true,
          .handle = [open, ask = std::move(ask)](const Call& call) -> Result<Reply> {
            PJ_TRY(const auto jobs, open());
            PJ_TRY(const Json json, ask(*jobs, call));
            return Reply::json(json);
          }};
}

Route changing(Route route, const char* method, const char* body = "") {
  route.method = method;
  route.role = Role::kControl;
  route.body = body;
  return route;
}

Result<Json> create(JobCalls& jobs, const Call& call) {
  PJ_TRY(const JobDefinition definition, read_definition(call.captured[0], call.body));
  return jobs.create(definition);
}

Result<Json> report(JobCalls& jobs, const Call& call) {
  PJ_TRY(const TrialReport told, read_report(call.body));
  return jobs.report(call.captured[0], told);
}

Result<Json> abandon(JobCalls& jobs, const Call& call) {
  PJ_TRY(const std::int64_t trial, read_trial(call.body));
  return jobs.abandon(call.captured[0], trial);
}

}  // namespace

std::vector<Route> job_routes(const OpenJobs& open) {
  std::vector<Route> routes;
  routes.push_back(reading(open, "/api/v1/jobs", "Recurring jobs", "perjoule.train-jobs.v1",
                           [](JobCalls& jobs, const Call&) { return jobs.list(); }));
  routes.push_back(
      reading(open, "/api/v1/jobs/{job}", "A job's trainings so far", "perjoule.train-status.v1",
              [](JobCalls& jobs, const Call& call) { return jobs.show(call.captured[0]); }));
  routes.push_back(changing(
      reading(open, "/api/v1/jobs/{job}", "Make a job known; the same definition again is fine",
              "perjoule.train-job.v1", create),
      "PUT", "perjoule.train-job-definition"));
  routes.push_back(
      changing(reading(open, "/api/v1/jobs/{job}/next", "The batch size to train with next",
                       "perjoule.train-trial.v1",
                       [](JobCalls& jobs, const Call& call) { return jobs.ask(call.captured[0]); }),
               "POST"));
  routes.push_back(
      changing(reading(open, "/api/v1/jobs/{job}/report",
                       "A training's totals at the end of an epoch: whether it is to go on",
                       "perjoule.train-verdict.v1", report),
               "POST", "perjoule.train-report"));
  routes.push_back(changing(
      reading(open, "/api/v1/jobs/{job}/abandon", "A training failed for reasons of its own",
              "perjoule.train-trial.v1", abandon),
      "POST", "perjoule.train-abandoned"));
  routes.push_back(changing(
      reading(open, "/api/v1/jobs/{job}", "Forget a job", "perjoule.train-job.v1",
              [](JobCalls& jobs, const Call& call) { return jobs.remove(call.captured[0]); }),
      "DELETE"));
  return routes;
}

}  // namespace perjoule

#include "server/services/run_routes.h"

#include <cmath>

#include "server/node/power_part.h"
#include "store/run_json.h"

namespace perjoule {
namespace {

Result<Reply> list(const OpenStore& open, const Call& call) {
  RunFilter filter{call.text("project").value_or(""), call.text("tag").value_or(""), 0};
  const std::int64_t last = call.integer("last").value_or(200);
  if (last < 0) return Error::invalid_argument("last is below 0", "0 lists all");
  filter.last = static_cast<std::size_t>(last);
  auto store = open();
  // Nothing stored yet is an empty list, not a failure.
  if (!store && store.error().code == ErrorCode::kNotFound) {
    return Reply::json(runs_document({}, false));
  }
  if (!store) return fail(store);
  PJ_TRY(const std::vector<RunRecord> runs, (*store)->list_runs(filter));
  return Reply::json(runs_document(runs, false));
}

Result<Reply> show(const OpenStore& open, const Call& call) {
  PJ_TRY(const auto store, open());
  PJ_TRY(const std::string id, store->find_run(call.captured[0]));
  PJ_TRY(const RunRecord run, store->load_run(id));
  Json document = run.document;
  // What a page draws is asked for by these names.
  document["timelines"] = Json::array();
  for (const StoredTimeline& one : run.timelines) document["timelines"].push_back(one.source);
  return Reply::json(document);
}

Result<Reply> timeline(const OpenStore& open, const Call& call) {
  const std::int64_t points = call.integer("points").value_or(800);
  const std::string source = *call.text("source");
  PJ_TRY(const auto store, open());
  PJ_TRY(const std::string id, store->find_run(call.captured[0]));
  PJ_TRY(const StoredTimeline samples, store->samples(id, source));
  const std::int64_t t0_ms = samples.t0_unix_ns / 1'000'000;
  const auto end_ms =
      t0_ms + static_cast<std::int64_t>(
                  std::ceil(samples.dt.value() * 1e3 * static_cast<double>(samples.watts.size())));
  const std::int64_t from = call.integer("from").value_or(t0_ms);
  const std::int64_t to = call.integer("to").value_or(end_ms + 1);
  PJ_TRY(const PowerPart part, decimated(samples.watts, samples.t0_unix_ns, samples.dt, from, to,
                                         points < 1 ? 0 : static_cast<std::size_t>(points)));
  Json json = to_json(part, "perjoule.timeline.v1", source);
  json["samples"] = static_cast<std::int64_t>(samples.watts.size());
  json["begin_unix_ms"] = t0_ms;
  json["end_unix_ms"] = end_ms;
  return Reply::json(json);
}

}  // namespace

std::vector<Route> run_routes(OpenStore open) {
  using Kind = RouteParameter::Kind;
  std::vector<Route> routes;
  routes.push_back({.pattern = "/api/v1/runs",
                    .summary = "Stored runs, the newest first",
                    .parameters = {{"project", Kind::kText, "only this one's"},
                                   {"tag", Kind::kText, "only those that have it"},
                                   {"last", Kind::kInteger, "only so many; 200, and 0 for all"}},
                    .answer = "perjoule.runs.v1",
                    .is_slow = true,
                    .handle = [open](const Call& call) { return list(open, call); }});
  routes.push_back({.pattern = "/api/v1/runs/{id}",
                    .summary = "One run: its id, the beginning of it, \"last\" or \"last~2\"",
                    .answer = "perjoule.run.v1",
                    .is_slow = true,
                    .handle = [open](const Call& call) { return show(open, call); }});
  routes.push_back(
      {.pattern = "/api/v1/runs/{id}/timeline",
       .summary = "The sampled power of one of a run's sources, in even steps",
       .parameters = {{"source", Kind::kText, "one of the run's `timelines`", true},
                      {"from", Kind::kInteger, "milliseconds since 1970; the run's beginning"},
                      {"to", Kind::kInteger, "milliseconds since 1970; the run's end"},
                      {"points", Kind::kInteger, "at most so many steps; 800"}},
       .answer = "perjoule.timeline.v1",
       .is_slow = true,
       .handle = [open](const Call& call) { return timeline(open, call); }});
  return routes;
}

}  // namespace perjoule

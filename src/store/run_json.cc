#include "store/run_json.h"

#include <utility>

namespace perjoule {

Json run_json(const RunRecord& run, bool with_samples) {
  Json json = Json::object();
  json["id"] = run.id;
  json["started_unix_ns"] = run.started_unix_ns;
  json["duration_s"] = run.duration.value();
  json["host"] = run.host;
  json["command"] = run.command;
  json["project"] = run.project;
  Json tags = Json::array();
  for (const std::string& tag : run.tags) tags.push_back(tag);
  json["tags"] = std::move(tags);
  json["unit"] = run.unit;
  json["document"] = run.document;
  if (!with_samples) return json;
  Json timelines = Json::array();
  for (const StoredTimeline& timeline : run.timelines) {
    Json entry = Json::object();
    entry["source"] = timeline.source;
    entry["t0_unix_ns"] = timeline.t0_unix_ns;
    entry["dt_s"] = timeline.dt.value();
    Json::Array watts;
    watts.reserve(timeline.watts.size());
    for (const float value : timeline.watts) watts.emplace_back(static_cast<double>(value));
    entry["watts"] = Json(std::move(watts));
    timelines.push_back(std::move(entry));
  }
  json["timelines"] = std::move(timelines);
  return json;
}

Json runs_document(const std::vector<RunRecord>& runs, bool with_samples) {
  Json document = Json::object();
  document["schema"] = "perjoule.runs.v1";
  Json entries = Json::array();
  for (const RunRecord& run : runs) entries.push_back(run_json(run, with_samples));
  document["runs"] = std::move(entries);
  return document;
}

}  // namespace perjoule

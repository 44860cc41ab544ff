#include "meter/run_point.h"

#include <fmt/format.h>

#include <utility>

#include "meter/compare.h"

namespace perjoule {

namespace {

std::string command_of(const Json& document) {
  std::string line;
  const Json* words = document.find("command");
  if (words == nullptr || words->as_array() == nullptr) return line;
  for (const Json& word : *words->as_array()) {
    if (word.as_string() != nullptr) (line += line.empty() ? "" : " ") += *word.as_string();
  }
  return line;
}

void set_if_given(Config& config, std::string_view name, std::string_view value) {
  if (!value.empty()) config.set(name, value);
}

}  // namespace

Result<RunPoint> point_of_run(const Json& document, const std::string& name) {
  PJ_TRY(const ComparedRun run, compared_run(document, name));
  RunPoint out;
  // What a user chose comes first, so that it tells the points apart where it can.
  set_if_given(out.point.config, "command", command_of(document));
  set_if_given(out.point.config, "project", document.string("project").value_or(""));
  set_if_given(out.point.config, "tag", document.string("tag").value_or(""));
  set_if_given(out.point.config, "host", document.string("host").value_or(""));
  set_if_given(out.point.config, "run", name);
  const bool counted = run.units > 0;
  const double scale = counted ? 1 / run.units : 1;
  out.point.time = run.time * scale;
  out.point.energy = run.total * scale;
  if (counted) out.unit = run.unit;
  if (!counted && !run.unit.empty()) {
    out.notes.push_back(fmt::format("run {} counted no {}: its figures are those of the whole run",
                                    name, run.unit));
  }
  if (run.total.status == Status::kMissing)
    out.notes.push_back(fmt::format("run {} has no energy and is left out", name));
  if (run.total.status != Status::kMissing && run.total.one_sided()) {
    out.notes.push_back(fmt::format(
        "run {}: part of its energy went unseen: it is a lower bound and left out of the choice",
        name));
  }
  const std::int64_t status = document.integer("exit_status").value_or(0);
  if (status != 0) {
    out.notes.push_back(fmt::format(
        "run {} ended with status {}: it may not have done all its work", name, status));
  }
  return out;
}

bool is_run_file(std::string_view text) {
  // Our writers put the schema first.
  text = text.substr(0, 512);
  return text.find("\"perjoule.run.v") != std::string_view::npos ||
         text.find("\"perjoule.runs.v") != std::string_view::npos;
}

Result<std::vector<RunPoint>> points_of_run_file(std::string_view text, const std::string& name) {
  const Result<Json> json = parse_json(text);
  if (!json) return fail(json, name);
  PJ_CHECK(check_run_schema(*json, name));
  std::vector<RunPoint> points;
  if (json->string("schema") == "perjoule.run.v1") {
    PJ_TRY(RunPoint point, point_of_run(*json, name));
    points.push_back(std::move(point));
    return points;
  }
  const Json* runs = json->find("runs");
  if (runs == nullptr || runs->as_array() == nullptr)
    return Error::invalid_argument(name + ": no array 'runs'");
  for (const Json& run : *runs->as_array()) {
    const Json* document = run.find("document");
    const std::string id = run.string("id").value_or("");
    if (document == nullptr)
      return Error::invalid_argument(fmt::format("{}: run {}: no document", name, id));
    auto point = point_of_run(*document, id);
    if (!point) return fail(point, name);
    points.push_back(std::move(*point));
  }
  return points;
}

}  // namespace perjoule

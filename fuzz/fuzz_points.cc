// Tables of points from anyone: whatever is accepted must make a frontier every rule can be asked
// about, and survive our own format.
#include <cstdlib>

#include "frontier/frontier.h"
#include "frontier/interpolate.h"
#include "frontier/points_format.h"
#include "frontier/points_table.h"

namespace {

using namespace perjoule;

void ask_everything(const std::vector<Point>& points) {
  const auto frontier = Frontier::make(points);
  if (!frontier) return;  // a file of ours may hold figures that are no operating point
  for (const char* rule :
       {"deadline=1s", "budget=1J", "power=1W", "eta=0.5", "slowdown=1.1", "edp", "knee"}) {
    const auto choice = frontier->choose(*parse_rule(rule));
    if (!choice || choice->chosen >= points.size()) std::abort();
    if ((choice->feasible == 0) != choice->miss.has_value()) std::abort();
  }
  for (const Setting setting : points.front().config.settings()) {
    (void)interpolate(*frontier, setting.name, 1);
    (void)frontier->choose(MaxSlowdown{1.1, std::string(setting.name)});
  }
}

void write_and_read(const std::vector<Point>& points) {
  const auto again = parse_points_file(points_json({"step", points}).dump(), "again");
  if (!again || again->points.size() != points.size()) std::abort();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (again->points[i].time != points[i].time) std::abort();
    if (again->points[i].energy.status != points[i].energy.status) std::abort();
  }
  // CSV cannot hold a NUL nor names that differ in blanks only, and says so.
  (void)parse_points_file(points_csv({"step", points}), "again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  PointsOptions options;
  // The first byte chooses among ways to read; the rest is the file.
  if ((data[0] & 1U) != 0) options.group_by = {"model"};
  if ((data[0] & 2U) != 0) options.settings = {"batch"};
  if ((data[0] & 4U) != 0) (void)add_mapping("time=t*:ms", options.map);
  if ((data[0] & 8U) != 0) (void)add_mapping("power=p+w:W", options.map);
  if ((data[0] & 16U) != 0) options.where = {{"model", "a"}};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto table = parse_points(text, "f", options);
  if (!table) return 0;
  for (const PointGroup& group : table->groups) {
    ask_everything(group.points);
    write_and_read(group.points);
  }
  return 0;
}

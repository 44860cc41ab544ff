// `frontier` on real tables: the twelve worked recommendations of the ML.ENERGY data, and a table
// of a million rows.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "figure.h"
#include "frontier/frontier.h"
#include "frontier/points_table.h"

namespace pb = perjoule::bench;
using namespace perjoule;  // NOLINT

namespace {

std::string energy_column(const std::string& input) {
  if (input == "v2/llm.csv") return "energy_per_req_j";
  if (input == "v2/diffusion.csv") return "energy_per_output_j";
  if (input.find("text-to-image") != std::string::npos) return "energy_per_image_joules";
  if (input.find("text-to-video") != std::string::npos) return "energy_per_video_joules";
  return "energy_per_token_joules";
}

PointsOptions options_of(const Json& example) {
  const std::string input = *example.string("input");
  const bool v2 = input.substr(0, 2) == "v2";
  PointsOptions options;
  options.map.time = *example.string("latency_metric");
  options.map.energy = energy_column(input);
  options.where.emplace_back(v2 ? "model" : "model_id", *example.string("model_id"));
  if (const auto* gpus = example.find("gpu_models")->as_array()) {
    for (const Json& gpu : *gpus)
      options.where.emplace_back(v2 ? "gpu" : "gpu_model", *gpu.as_string());
  }
  return options;
}

bool same_point(const Point& point, const Json& expected, double to_seconds) {
  if (point.time.value() != *expected.number("latency") * to_seconds) return false;
  if (point.energy.joules.value() != *expected.number("energy")) return false;
  for (const auto& [name, value] : *expected.as_object()) {
    const auto setting = point.config.find(name);
    if (!setting || name == "avg_output_len") continue;
    const std::string* text = value.as_string();
    if (*setting != (text != nullptr ? *text : value.dump())) return false;
  }
  return true;
}

bool same_choice(const Json& example, const std::string& folder) {
  const PointsTable table =
      pb::must(read_points({folder + *example.string("input")}, options_of(example)));
  const Frontier frontier = pb::must(Frontier::make(table.groups[0].points));
  const bool in_ms = example.string("latency_metric")->find("_ms") != std::string::npos;
  const double to_seconds = in_ms ? 1e-3 : 1;
  const Choice choice =
      pb::must(frontier.choose(Deadline{Seconds(*example.number("deadline") * to_seconds)}));
  if (choice.candidates != static_cast<std::size_t>(*example.integer("candidates"))) return false;
  if (choice.feasible != static_cast<std::size_t>(*example.integer("feasible"))) return false;
  if (const Json* expected = example.find("frontier"); expected != nullptr) {
    const Json::Array& points = *expected->as_array();
    if (points.size() != frontier.indices().size()) return false;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!same_point(frontier.points()[frontier.indices()[i]], points[i], to_seconds))
        return false;
    }
  }
  if (!same_point(frontier.points()[choice.baseline], *example.find("fastest"), to_seconds))
    return false;
  const Json& chosen = *example.find("chosen");
  if (chosen.is_null() != choice.miss.has_value()) return false;
  return chosen.is_null() ||
         (same_point(frontier.points()[choice.chosen], chosen, to_seconds) &&
          std::abs(choice.energy_saved - *example.number("saving_energy_fraction")) <= 1e-12);
}

void print_recommendations() {
  const std::string folder =
      environment("PERJOULE_DATA", std::string(PERJOULE_SOURCE_DIR) + "/../shared/data") +
      "/mlenergy_leaderboard/";
  pb::Figure figure{.figure = "recommendations", .unit = "of 12 equal", .bar = "12"};
  if (!path_exists(folder)) {
    figure.detail = "not run: the data is not here; set PERJOULE_DATA";
  } else {
    const Json expected =
        pb::must(parse_json(pb::must(read_file(folder + "expected_recommendations.json"))));
    int equal = 0;
    for (const Json& example : *expected.find("examples")->as_array())
      equal += same_choice(example, folder) ? 1 : 0;
    figure.value = equal;
    figure.pass = equal == 12;
    figure.detail =
        "candidates, feasible ones, fastest, chosen, saving to 1e-12, frontier where it is given";
  }
  pb::print(figure);
}

double peak_memory_mib() {
  const std::string status = pb::must(read_file("/proc/self/status"));
  return std::strtod(status.c_str() + status.find("VmHWM:") + 6, nullptr) / 1024;
}

void print_million_rows() {
  constexpr int kRows = 1'000'000;
  const std::string path = "/tmp/perjoule-rows-" + std::to_string(::getpid()) + ".csv";
  {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) pb::must(Error::from_errno(errno, "writing " + path));
    std::mt19937 random(1);
    std::uniform_real_distribution<double> figure(0.5, 2);
    std::fputs("batch,limit_w,tp,time_s,energy_j\n", file);
    for (int i = 0; i < kRows; ++i) {
      std::fprintf(file, "%d,%d,%d,%.6f,%.4f\n", i, 200 + i % 500, 1 << i % 4, figure(random),
                   100 * figure(random));
    }
    std::fclose(file);
  }
  const double before = pb::cpu_seconds();
  const PointsTable table = pb::must(read_points({path}, {}));
  const Frontier frontier = pb::must(Frontier::make(table.groups[0].points));
  const double took = pb::cpu_seconds() - before;
  std::remove(path.c_str());
  pb::print({.figure = "million_rows",
             .value = took,
             .unit = "s CPU",
             .bar = "it reads them",
             .pass = table.rows == kRows && !frontier.indices().empty(),
             .detail = fmt::format("10^6 rows, 3 settings, each row a configuration of its own; "
                                   "{:.0f} MiB peak, {} points on the frontier",
                                   peak_memory_mib(), frontier.indices().size())});
}

}  // namespace

int main() {
  print_recommendations();
  print_million_rows();
}

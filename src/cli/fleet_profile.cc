// perjoule fleet profile: what an instance draws and how late its tokens are, by load, from
// everybody's tables.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/fleet_options.h"
#include "cli/fleet_traffic.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "fleet/engine/profile_trials.h"
#include "fleet/engine/table_steps.h"
#include "fleet/profile/profile_builder.h"
#include "fleet/profile/profile_table.h"
#include "fleet/profile/read_profile.h"

namespace perjoule::cli {
namespace {

constexpr auto kRight = Table::Align::kRight;

Result<std::optional<int>> degree(const Arguments& arguments, std::string_view option) {
  constexpr std::int64_t kMost = 65536;
  const std::string word = arguments.value(option);
  if (word.empty()) return std::optional<int>();
  const auto value = parse_integer(word);
  if (!value || *value < 1 || *value > kMost)
    return Error::invalid_argument(fmt::format("--{} {}: not a number of GPUs", option, word));
  return std::optional<int>(static_cast<int>(*value));
}

Result<ProfileReadOptions> read_options(const Arguments& arguments) {
  ProfileReadOptions options;
  options.names.gpu = arguments.value("gpu");
  options.names.model = arguments.value("model");
  options.bench.load_class = arguments.value("class");
  PJ_TRY(options.bench.tensor_parallel, degree(arguments, "tp"));
  PJ_TRY(options.bench.pipeline_parallel, degree(arguments, "pp"));
  PJ_TRY(const auto clock, arguments.read<Hertz>("clock", parse_clock));
  if (clock) options.bench.clock_mhz = in_megahertz(*clock);
  return options;
}

std::string known(Seconds value) {
  return value == value ? to_text(value, 3) : std::string("-");  // NaN: not known
}

std::string range_text(const std::string& low, const std::string& high) {
  return low == high ? low : low + " to " + high;
}

Table curve_table(const ServingProfile& profile) {
  Table table({{"MODEL"},
               {"GPU"},
               {"LAYOUT"},
               {"CLOCK", kRight},
               {"CLASS"},
               {"POINTS", kRight},
               {"PROMPT TOKENS/S", kRight},
               {"POWER", kRight},
               {"STATUS"}});
  for (const ProfileCurve& curve : profile.curves) {
    const auto [least, most] = std::minmax_element(
        curve.points.begin(), curve.points.end(),
        [](const ServingPoint& a, const ServingPoint& b) { return a.power < b.power; });
    table.add({printable(curve.layout.model), printable(curve.layout.gpu), text_of(curve.layout),
               fmt::format("{:g} MHz", curve.clock_mhz),
               curve.load_class.empty() ? "any" : printable(curve.load_class),
               std::to_string(curve.points.size()),
               range_text(fmt::format("{:g}", curve.points.front().load),
                          fmt::format("{:g}", curve.points.back().load)),
               range_text(to_text(least->power, 4), to_text(most->power, 4)),
               std::string(name_of(curve.status))});
  }
  return table;
}

Table point_table(const ServingProfile& profile) {
  Table table({{"GPU"},
               {"LAYOUT"},
               {"CLOCK", kRight},
               {"PROMPT TOKENS/S", kRight},
               {"POWER", kRight},
               {"TTFT MEAN", kRight},
               {"P90", kRight},
               {"P99", kRight},
               {"TBT MEAN", kRight},
               {"P90", kRight},
               {"P99", kRight}});
  for (const ProfileCurve& curve : profile.curves) {
    for (const ServingPoint& point : curve.points) {
      std::vector<std::string> row = {printable(curve.layout.gpu), text_of(curve.layout),
                                      fmt::format("{:g} MHz", curve.clock_mhz),
                                      fmt::format("{:g}", point.load), to_text(point.power, 4)};
      for (const LatencyFigures* figures : {&point.ttft, &point.tbt}) {
        for (std::size_t i = 0; i < kLatencyStatistics; ++i)
          row.push_back(known((*figures)[static_cast<LatencyStatistic>(i)]));
      }
      table.add(std::move(row));
    }
  }
  return table;
}

Json latencies_json(const LatencyFigures& figures) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kLatencyStatistics; ++i) {
    const auto statistic = static_cast<LatencyStatistic>(i);
    json[std::string(name_of(statistic)) + "_s"] = figures[statistic].value();
  }
  return json;
}

Json document_of(const ServingProfile& profile) {
  Json json = Json::object();
  json["schema"] = "perjoule.fleet-profile.v1";
  json["curves"] = Json::array();
  for (const ProfileCurve& curve : profile.curves) {
    Json one = Json::object();
    one["model"] = curve.layout.model;
    one["gpu"] = curve.layout.gpu;
    one["tp"] = curve.layout.tensor_parallel;
    one["pp"] = curve.layout.pipeline_parallel;
    one["clock_mhz"] = curve.clock_mhz;
    one["class"] = curve.load_class;
    one["status"] = name_of(curve.status);
    one["origin"] = curve.origin;
    one["points"] = Json::array();
    for (const ServingPoint& point : curve.points) {
      Json at = Json::object();
      at["load_tps"] = point.load;
      at["power_w"] = point.power.value();
      at["ttft"] = latencies_json(point.ttft);
      at["tbt"] = latencies_json(point.tbt);
      at["attainment"] = point.attainment;
      one["points"].push_back(std::move(at));
    }
    json["curves"].push_back(std::move(one));
  }
  json["notes"] = json_of_texts(profile.notes);
  return json;
}

/// The shipped engines, tried with requests as long as a trace's.
Result<ServingProfile> simulated_profile(const Arguments& arguments) {
  PJ_TRY(const auto lengths, read_lengths(arguments.value("simulate")));
  PJ_TRY(const auto models, table_steps(shipped_step_tables()));
  Progress progress;
  std::mutex drawing;  // guards progress
  ProfileTrials trials;
  trials.progress = [&](std::size_t done, std::size_t all) {
    const std::lock_guard lock(drawing);
    progress.show(static_cast<double>(done) / static_cast<double>(all), "trying loads");
  };
  PJ_TRY(ServingProfile profile, profile_of_engines(models, lengths, trials));
  profile.notes.push_back("requests as long as those of " + printable(arguments.value("simulate")));
  return profile;
}

Result<int> run(const Arguments& arguments) {
  PJ_TRY(const ProfileReadOptions options, read_options(arguments));
  const std::string output = arguments.value("output");
  if (!output.empty()) PJ_CHECK(check_writable(output));
  std::vector<ServingProfile> profiles;
  for (const std::string& file : arguments.values("TABLE")) {
    PJ_TRY(ServingProfile profile, read_serving_profile(file, options));
    profiles.push_back(std::move(profile));
  }
  if (arguments.has("simulate")) {
    PJ_TRY(ServingProfile profile, simulated_profile(arguments));
    profiles.push_back(std::move(profile));
  }
  if (profiles.empty())
    return Error::invalid_argument("fleet profile: of what?", "name tables, or --simulate TRACE");
  PJ_TRY(const ServingProfile profile, join_profiles(profiles));
  if (!output.empty()) PJ_CHECK(write_file_atomically(output, profile_csv(profile)));
  if (arguments.json()) {
    print(document_of(profile).dump(2) + "\n");
    return kDone;
  }
  print((arguments.has("points") ? point_table(profile) : curve_table(profile)).text() + "\n" +
        profile_footer(profile));
  return kDone;
}

}  // namespace

Verb fleet_profile_verb() {
  Verb verb;
  verb.name = "fleet profile";
  verb.summary = "what an instance draws and how late its tokens are, by load";
  verb.description =
      "Reads serving profiles: our own table, the tables that BEAM's authors measured with locked\n"
      "clocks, and benchmark results (perjoule bench, and what bench join gave power), a point a\n"
      "result. Joins them to one, shows its curves, and writes them as our table, which the other\n"
      "fleet verbs read. What a file does not say of itself is to be stated; nothing is made up.\n"
      "docs/formats.md has the table's columns.";
  verb.positionals = {{"TABLE", "tables, benchmark results or folders of them", false, true}};
  verb.options = {
      {"output", "FILE", "write the joined profile there, as our table (CSV)"},
      {"simulate", "TRACE",
       "try the simulated engines of fleet simulate with requests as long as this trace's"},
      {"points", "", "every point in place of every curve"},
      {"gpu", "NAME", "BEAM's tables: the GPU, in place of what the file's name says"},
      {"model", "NAME", "BEAM's tables: the model, in place of what the file's name says"},
      {"clock", "CLOCK", "benchmark results: the clock they ran at, where they do not say"},
      {"tp", "COUNT", "benchmark results: tensor parallelism, where they do not say"},
      {"pp", "COUNT", "benchmark results: pipeline parallelism, where they do not say"},
      {"class", "NAME", "benchmark results: class of the requests"},
  };
  verb.examples = {
      "perjoule fleet profile "
      "dynamo_dvfs_profile_A100-SXM4-80GB_meta-llama_Llama-3.3-70B-Instruct.csv",
      "perjoule fleet profile a100/ --clock 1410MHz --tp 4 --output llama70b.csv",
      "perjoule fleet profile llama70b.csv --points",
      "perjoule fleet profile --simulate AzureLLMInferenceTrace_conv.csv --output conv70b.csv",
  };
  verb.run = run;
  return verb;
}

}  // namespace perjoule::cli

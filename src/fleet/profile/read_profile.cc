#include "fleet/profile/read_profile.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "fleet/profile/profile_table.h"
#include "workload/bench_files.h"

namespace perjoule {
namespace {

bool begins_json(std::string_view text) {
  const std::string_view core = trim(text);
  return !core.empty() && (core.front() == '{' || core.front() == '[');
}

Result<ServingProfile> read_results(const BenchFiles& files, const BenchProfileOptions& options) {
  PJ_TRY(ServingProfile profile, profile_of_results(files.results, options));
  profile.notes.insert(profile.notes.begin(), files.notes.begin(), files.notes.end());
  return profile;
}

}  // namespace

Result<ServingProfile> read_serving_profile(const std::string& path,
                                            const ProfileReadOptions& options) {
  if (is_folder(path)) {
    PJ_TRY(const BenchFiles files, read_bench_files({path}, {}));
    return read_results(files, options.bench);
  }
  PJ_TRY(std::string text, read_file(path));
  if (!begins_json(text)) {
    PJ_TRY(const CsvTable table, parse_csv(text, path));
    if (is_profile_table(table)) return read_profile_table(table);
    if (is_beam_profile(table)) return read_beam_profile(table, options.names);
  }
  Result<BenchFiles> files = parse_bench_text(text, path);
  if (files) return read_results(*files, options.bench);
  if (begins_json(text)) return fail(files);
  return Error::invalid_argument(
      path + ": no serving profile",
      "a table with the columns of docs/formats.md, one of BEAM's (clock, tp, pp, tps, gpu_power, "
      "...), or benchmark results are wanted");
}

}  // namespace perjoule

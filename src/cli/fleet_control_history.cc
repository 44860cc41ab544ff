#include "cli/fleet_control_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utc_text.h"
#include "cli/fleet_traffic.h"
#include "cli/table.h"
#include "cli/toml_readers.h"
#include "workload/civil_time.h"

namespace perjoule::cli {
namespace {

using Kind = TomlNode::Kind;

constexpr double kMost = 1e9;  // tokens of a request; times another's load

/// A date of UTC, or of the zone that it names.
TomlReader begins_into(std::optional<std::int64_t>& to) {
  return [&to](const TomlNode& node) -> Outcome {
    for (const std::string_view form : {"Y-M-D h:m:s", "Y-M-D h:m", "Y-M-D"}) {
      if (node.is(Kind::kWord) && !to) to = parse_stamp(node.word, form, Seconds(0));
    }
    if (to) return {};
    return refuse(node, "a date is wanted, of UTC where it names no zone",
                  "begins = \"2024-05-12 00:00:00+02:00\"");
  };
}

TomlReader repeats_into(std::optional<Seconds>& to) {
  return [&to](const TomlNode& node) -> Outcome {
    if (node.word != "day" && node.word != "week") return refuse(node, "'repeats' is day or week");
    to = node.word == "day" ? kHistoryDay : kHistoryWeek;
    return {};
  };
}

Result<LoadHistory> read(const HistoryWords& words, const std::string& fleet, bool has_pools,
                         const std::vector<FleetServer>& servers) {
  HistorySource source = words.source;
  if (!words.lengths.empty()) {
    PJ_TRY(source.lengths, read_lengths(beside(fleet, words.lengths)));
  }
  PJ_TRY(LoadHistory history, read_load_history(beside(fleet, words.file), source));
  std::vector<LoadClass> pools;
  for (const FleetServer& server : servers) {
    const auto pool = static_cast<LoadClass>(server.pool);
    if (has_pools && std::find(pools.begin(), pools.end(), pool) == pools.end())
      pools.push_back(pool);
  }
  PJ_TRY(history.load, load_of_pools(history.load, pools));
  return history;
}

}  // namespace

Result<HistoryWords> read_history(const TomlNode& node) {
  HistoryWords words;
  words.place = node.place;
  if (!node.is(Kind::kTable)) {
    PJ_CHECK(text_into(words.file)(node));
    return words;
  }
  HistorySource& source = words.source;
  PJ_CHECK(read_table(node, "'history'",
                      {{"file", text_into(words.file)},
                       {"lengths", text_into(words.lengths)},
                       {"column", text_into(source.column)},
                       {"tokens-per-request", number_into(source.tokens_per_request, 1, kMost)},
                       {"scale", number_into(source.scale, 1 / kMost, kMost)},
                       {"begins", begins_into(source.begins_ns)},
                       {"repeats", repeats_into(source.repeats)}}));
  if (words.file.empty()) return refuse(node, "'history' needs a file");
  if (!words.lengths.empty() && source.tokens_per_request > 0)
    return refuse(node, "'lengths' and 'tokens-per-request' say the same");
  return words;
}

Result<LoadHistory> load_history(const HistoryWords& words, const std::string& fleet,
                                 bool has_pools, const std::vector<FleetServer>& servers) {
  auto history = read(words, fleet, has_pools, servers);
  if (!history) return fail(history, words.place + ": history");
  return history;
}

std::string text_of(const LoadHistory& history) {
  return fmt::format(
      "{} by the time of the {}, {:.3g} d in bins of {} from {} UTC on",
      printable(history.load.origin), history.repeats == kHistoryWeek ? "week" : "day",
      history.length() / kHistoryDay, to_text(history.bin(), 3), utc_text(history.begins_ns));
}

std::string beside(const std::string& file, const std::string& path) {
  const std::size_t slash = file.rfind('/');
  if (path.empty() || path.front() == '/' || slash == std::string::npos) return path;
  return file.substr(0, slash + 1) + path;
}

}  // namespace perjoule::cli

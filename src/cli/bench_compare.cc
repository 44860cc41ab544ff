// perjoule bench compare: a gate on the energy of a token.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "workload/bench_compare.h"
#include "workload/bench_files.h"

namespace perjoule::cli {
namespace {

/// "5%" or "0.05".
Result<double> read_share(const Arguments& arguments) {
  const std::string word = arguments.value("fail-above");
  const auto share = parse_share(word);
  if (share && *share >= 0) return *share;
  return Error::invalid_argument("--fail-above " + word + ": not a share", "5% or 0.05");
}

Result<BenchResult> one_result(const std::string& path) {
  PJ_TRY(BenchFiles files, read_bench_files({path}, {}));
  if (files.results.size() == 1) return std::move(files.results.front());
  return Error::invalid_argument(
      fmt::format("{}: {}, where one is compared", path,
                  counted(static_cast<double>(files.results.size()), "result")),
      "give a file of one, as perjoule bench run --output writes it");
}

Json document_of(const BenchResult& a, const BenchResult& b, const BenchComparison& found,
                 const BenchCompareOptions& options) {
  Json json = Json::object();
  json["schema"] = "perjoule.bench-compare.v1";
  json["first"] = text_of(a.origin);
  json["second"] = text_of(b.origin);
  json["per"] = options.unit == BenchUnit::kItem ? unit_of(a.kind) : "response";
  json["fail_above"] = options.fail_above;
  json["verdict"] = name_of(found.verdict);
  if (found.verdict == BenchVerdict::kUnknown) {
    json["reason"] = found.reason;
  } else {
    json["before"] = to_json(found.before);
    json["after"] = to_json(found.after);
    json["change"] = to_json(found.change);
    json["relative"] = found.relative;
    json["relative_half_width"] = found.half_width;
  }
  const auto texts = [](const std::vector<std::string>& lines) {
    Json list = Json::array();
    for (const std::string& line : lines) list.push_back(line);
    return list;
  };
  json["unlike"] = texts(found.unlike);
  json["notes"] = texts(found.notes);
  return json;
}

std::string text_of(const BenchResult& a, const BenchResult& b, const BenchComparison& found,
                    const BenchCompareOptions& options) {
  if (found.verdict == BenchVerdict::kUnknown) return "no answer: " + found.reason + "\n";
  std::string unit(options.unit == BenchUnit::kItem ? unit_of(a.kind) : "response");
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  Table table({{""},
               {"ENERGY OF " + std::string(unit == "IMAGE" ? "AN IMAGE" : "A " + unit),
                Table::Align::kRight},
               {"STATUS"},
               {"GRADE"}});
  const auto add = [&table](const BenchResult& result, const Energy& energy) {
    table.add({printable(text_of(result.origin)), with_uncertainty(energy), energy.status_text(),
               std::string(name_of(energy.grade()))});
  };
  add(a, found.before);
  add(b, found.after);
  std::string text = table.text();
  text += fmt::format("{}{} +- {} : {} (fails above {})\n", found.relative >= 0 ? "+" : "",
                      percent(found.relative, 2), percent(found.half_width, 2),
                      name_of(found.verdict), percent(options.fail_above, 1));
  for (const std::string& one : found.unlike) text += "unlike: " + printable(one) + "\n";
  for (const std::string& note : found.notes) text += "note: " + note + "\n";
  return text;
}

Result<int> run_compare(const Arguments& arguments) {
  BenchCompareOptions options;
  PJ_TRY(options.fail_above, read_share(arguments));
  const std::string per = arguments.value("per");
  if (per != "token" && per != "response")
    return Error::invalid_argument("--per " + per + ": token or response is wanted");
  options.unit = per == "response" ? BenchUnit::kResponse : BenchUnit::kItem;
  PJ_TRY(const BenchResult before, one_result(arguments.value("A")));
  PJ_TRY(const BenchResult after, one_result(arguments.value("B")));
  PJ_TRY(const BenchComparison found, compare_bench(before, after, options));
  print(arguments.json() ? document_of(before, after, found, options).dump(2) + "\n"
                         : text_of(before, after, found, options));
  return found.verdict == BenchVerdict::kWorse || found.verdict == BenchVerdict::kUnknown
             ? kAnswerIsNo
             : kDone;
}

}  // namespace

Verb bench_compare_verb() {
  Verb verb;
  verb.name = "bench compare";
  verb.summary = "fail where a benchmark's energy has grown by more than allowed";
  verb.description =
      "Holds the energy of an output token (an image, a video) of result B against that of A. Exit "
      "status 1 where B takes more than A by more than --fail-above, beyond the uncertainty of the "
      "difference, or where one of the two cannot be held against anything (void, or without "
      "energy); 0 otherwise. Errors of one GPU's sensor that both share cancel. Settings that "
      "differ are named.";
  verb.options = {{"fail-above", "SHARE", "5% or 0.05", "5%"},
                  {"per", "UNIT", "token (image, video) or response", "token"}};
  verb.positionals = {{"A", "a result: perjoule bench run --output, or another tool's"},
                      {"B", "the one to judge"}};
  verb.examples = {"perjoule bench compare main.json branch.json --fail-above 5%"};
  verb.run = run_compare;
  return verb;
}

}  // namespace perjoule::cli

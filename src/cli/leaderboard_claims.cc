#include "cli/leaderboard_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "cli/table.h"
#include "serving/board/claims.h"

namespace perjoule::cli {
namespace {

std::string in_unit(double value, const std::string& unit) {
  return fmt::format("{:.4g} {}", value, unit);
}

/// Of percentages the difference is in points, of others relative.
std::string difference_text(const ClaimFigure& figure) {
  if (!figure.published) return "-";
  if (figure.unit == "%") return fmt::format("{:+.2f} points", figure.here - *figure.published);
  return fmt::format("{:+.1f} %", 100 * (figure.here / *figure.published - 1));
}

std::string claim_text(const Claim& claim, const ClaimAnswer& answer) {
  std::string text = fmt::format("== {}: {}\n", claim.name, claim.statement);
  if (answer.figures.empty()) return text + "   not in these data\n";
  Table table({{"  "},
               {"published", Table::Align::kRight},
               {"here", Table::Align::kRight},
               {"difference", Table::Align::kRight}});
  for (const ClaimFigure& figure : answer.figures) {
    table.add({"  " + printable(figure.what),
               figure.published ? in_unit(*figure.published, figure.unit) : "-",
               in_unit(figure.here, figure.unit), difference_text(figure)});
  }
  text += table.text();
  return text + fmt::format("  {}: {}\n", name_of(answer.verdict), printable(answer.reason));
}

Json claim_json(const Claim& claim, const ClaimAnswer& answer) {
  Json json = Json::object();
  json["name"] = claim.name;
  json["statement"] = claim.statement;
  json["verdict"] = name_of(answer.verdict);
  json["reason"] = answer.reason;
  Json figures = Json::array();
  for (const ClaimFigure& figure : answer.figures) {
    Json one = Json::object();
    one["what"] = figure.what;
    one["unit"] = figure.unit;
    one["published"] = figure.published ? Json(*figure.published) : Json();
    one["here"] = figure.here;
    figures.push_back(std::move(one));
  }
  json["figures"] = std::move(figures);
  return json;
}

Result<std::vector<Claim>> claims_named(const std::vector<std::string>& names) {
  std::vector<Claim> claims;
  for (const std::string& name : names) {
    const auto& all = published_claims();
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Claim& claim) { return claim.name == name; });
    if (at == all.end()) {
      std::string known;
      for (const Claim& claim : all) known += (known.empty() ? "" : ", ") + std::string(claim.name);
      return Error::invalid_argument(fmt::format("--claim {}: no such claim", name),
                                     fmt::format("there are {}", known));
    }
    claims.push_back(*at);
  }
  return names.empty() ? published_claims() : claims;
}

}  // namespace

Result<int> run_claims(const Arguments& arguments, const std::vector<BenchResult>& results) {
  const std::vector<std::string> names = arguments.values("claim");
  PJ_TRY(const std::vector<Claim> claims, claims_named(names));
  std::string text;
  Json list = Json::array();
  bool any = false;
  for (const Claim& claim : claims) {
    const ClaimAnswer answer = claim.recompute(results);
    any = any || !answer.figures.empty();
    text += (text.empty() ? "" : "\n") + claim_text(claim, answer);
    list.push_back(claim_json(claim, answer));
  }
  if (names.empty()) {
    text += "\nNot for benchmark results to say:\n";
    for (const ClaimElsewhere& claim : claims_elsewhere())
      text += fmt::format("  {}: needs {}\n", claim.statement, claim.needs);
  }
  const int status = any ? kDone : kAnswerIsNo;
  if (!arguments.json()) {
    print(text);
    return status;
  }
  Json document = Json::object();
  document["schema"] = "perjoule.leaderboard-claims.v1";
  document["results"] = static_cast<std::int64_t>(results.size());
  document["claims"] = std::move(list);
  print(document.dump(2) + "\n");
  return status;
}

}  // namespace perjoule::cli

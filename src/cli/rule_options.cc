#include "cli/rule_options.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace perjoule::cli {

namespace {
constexpr std::array<std::string_view, 7> kRules{"deadline", "budget", "power", "slowdown",
                                                 "eta",      "edp",    "knee"};

}  // namespace

Result<Rule> rule_from(const Arguments& arguments) {
  std::string_view word;
  for (const std::string_view candidate : kRules) {
    if (!arguments.has(candidate)) continue;
    if (!word.empty()) {
      return Error::invalid_argument(
          fmt::format("two rules are given: --{} and --{}", word, candidate), "give one");
    }
    word = candidate;
  }
  if (word.empty()) return Rule(Knee{});
  PJ_TRY(Rule rule, parse_rule(word, arguments.value(word)));
  if (arguments.has("max-power")) {
    auto* eta = std::get_if<EtaCost>(&rule);
    if (eta == nullptr) return Error::invalid_argument("--max-power belongs to --eta");
    PJ_TRY(eta->max_power, arguments.read<Watts>("max-power", parse_watts));
    if (eta->max_power && !(eta->max_power->value() > 0)) {
      return Error::invalid_argument("--max-power " + arguments.value("max-power") +
                                     ": not a power above 0");
    }
  }
  if (arguments.has("lowest")) {
    auto* slowdown = std::get_if<MaxSlowdown>(&rule);
    if (slowdown == nullptr) return Error::invalid_argument("--lowest belongs to --slowdown");
    slowdown->setting = arguments.value("lowest");
  }
  return rule;
}

std::vector<Option> rule_options() {
  return {
      {"deadline", "TIME", "least energy with time at most TIME"},
      {"budget", "ENERGY", "least time with energy at most ENERGY"},
      {"power", "POWER", "least time with mean power at most POWER"},
      {"slowdown", "FACTOR", "least energy at most FACTOR (1.1 or 10%) slower than the fastest"},
      {"lowest", "SETTING",
       "with --slowdown: the lowest value of SETTING instead, at most FACTOR slower than its "
       "highest"},
      {"eta", "X", "least X E + (1 - X) Pmax t, X between 0 (time) and 1 (energy)"},
      {"max-power", "POWER", "Pmax of --eta; the highest mean power of the points otherwise"},
      {"edp", "", "least energy-delay product"},
      {"knee", "",
       "farthest below the line from fastest to least energy (of two points: --edp); taken when no "
       "rule is given"},
  };
}

}  // namespace perjoule::cli

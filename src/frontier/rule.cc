#include "frontier/rule.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace perjoule {

namespace {

Result<double> parse_eta(std::string_view value) {
  const auto number = parse_number(trim(value));
  if (!number || *number < 0 || *number > 1) {
    return Error::invalid_argument(fmt::format("eta: not between 0 and 1: '{}'", value),
                                   "0 looks at time only, 1 at energy only");
  }
  return *number;
}

/// "1.1" or "10%"; a number below 1 could mean either and is refused.
Result<double> parse_slowdown(std::string_view value) {
  std::string_view text = trim(value);
  const bool is_percent = !text.empty() && text.back() == '%';
  if (is_percent) text = trim(text.substr(0, text.size() - 1));
  const auto number = parse_number(text);
  const double factor = !number ? 0 : (is_percent ? 1 + *number / 100 : *number);
  if (factor < 1) {
    return Error::invalid_argument(fmt::format("slowdown: not a factor of at least 1: '{}'", value),
                                   "write 1.1 or 10% for at most ten per cent slower");
  }
  return factor;
}

Outcome want_positive(double value, std::string_view word, std::string_view text) {
  if (value > 0) return {};
  return Error::invalid_argument(fmt::format("{}: not above zero: '{}'", word, text));
}

Outcome want_nothing(std::string_view word, std::string_view value) {
  if (trim(value).empty()) return {};
  return Error::invalid_argument(fmt::format("{}: takes no value: '{}'", word, value));
}

}  // namespace

Result<Rule> parse_rule(std::string_view word, std::string_view value) {
  if (word == "deadline") {
    PJ_TRY(const Seconds at_most, parse_seconds(value));
    PJ_CHECK(want_positive(at_most.value(), word, value));
    return Deadline{at_most};
  }
  if (word == "budget") {
    PJ_TRY(const Joules at_most, parse_joules(value));
    PJ_CHECK(want_positive(at_most.value(), word, value));
    return EnergyBudget{at_most};
  }
  if (word == "power") {
    PJ_TRY(const Watts at_most, parse_watts(value));
    PJ_CHECK(want_positive(at_most.value(), word, value));
    return PowerBudget{at_most};
  }
  if (word == "eta") {
    PJ_TRY(const double eta, parse_eta(value));
    return EtaCost{eta, std::nullopt};
  }
  if (word == "slowdown") {
    PJ_TRY(const double factor, parse_slowdown(value));
    return MaxSlowdown{factor, {}};
  }
  if (word == "edp") {
    const auto exponent = trim(value).empty() ? 1.0 : parse_number(trim(value));
    if (!exponent || *exponent < 0)
      return Error::invalid_argument(fmt::format("edp: not an exponent of time: '{}'", value));
    return EnergyDelay{*exponent};
  }
  if (word == "knee") {
    PJ_CHECK(want_nothing(word, value));
    return Knee{};
  }
  return Error::invalid_argument(
      fmt::format("unknown rule: '{}'", word),
      "one of deadline, budget, power, slowdown, eta, edp, knee is wanted");
}

Result<Rule> parse_rule(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return parse_rule(trim(text), "");
  return parse_rule(trim(text.substr(0, equals)), text.substr(equals + 1));
}

namespace {

struct Words {
  std::string operator()(const Deadline& rule) const {
    if (std::isinf(rule.at_most.value())) return "least energy";
    return "least energy, time at most " + to_text(rule.at_most);
  }
  std::string operator()(const EnergyBudget& rule) const {
    if (std::isinf(rule.at_most.value())) return "least time";
    return "least time, energy at most " + to_text(rule.at_most);
  }
  std::string operator()(const PowerBudget& rule) const {
    return "least time, mean power at most " + to_text(rule.at_most);
  }
  std::string operator()(const EtaCost& rule) const {
    return fmt::format(
        "least cost {:g} E + {:g} Pmax t, Pmax {}", rule.eta, 1 - rule.eta,
        rule.max_power ? to_text(*rule.max_power) : "the highest mean power of the points");
  }
  std::string operator()(const MaxSlowdown& rule) const {
    if (rule.setting.empty())
      return fmt::format("least energy, time at most {:g} x the fastest", rule.factor);
    return fmt::format("lowest {}, time at most {:g} x that at its highest value", rule.setting,
                       rule.factor);
  }
  std::string operator()(const EnergyDelay& rule) const {
    if (rule.exponent == 1) return "least energy-delay product";
    return fmt::format("least energy x time^{:g}", rule.exponent);
  }
  std::string operator()(const Knee&) const { return "knee of the frontier"; }
};

}  // namespace

std::string text_of(const Rule& rule) { return std::visit(Words{}, rule); }

}  // namespace perjoule

#include "cli/bench_watch_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/text.h"
#include "cli/table.h"

namespace perjoule::cli {
namespace {

Json json_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json json_or_null(const std::optional<Watts>& value) {
  return value ? Json(value->value()) : Json();
}

Json json_of(const LiveShare& share) {
  Json json = Json::object();
  json["value"] = share.kind == ShareKind::kValue ? Json(share.value) : Json();
  if (share.kind == ShareKind::kIdle) json["idle"] = true;
  if (share.kind == ShareKind::kUnknown) json["unknown"] = true;
  json["prompt_tokens"] = json_or_null(share.prompt_tokens);
  json["output_tokens"] = json_or_null(share.output_tokens);
  json["share"] = json_or_null(share.share);
  json["energy"] = to_json(share.energy);
  return json;
}

std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

/// The words of an energy a second, which are those of a power but for the unit.
std::string power_text(const LiveFigures& figures) {
  std::string text = with_uncertainty(figures.per_second());
  std::replace(text.begin(), text.end(), 'J', 'W');
  return text;
}

std::string count_text(const std::optional<double>& value, int decimals = 0) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : std::string("-");
}

std::string token_text(const LiveFigures& figures) {
  return figures.output_tokens == 0 ? "none was made" : with_uncertainty(figures.output_token);
}

/// To two digits of the uncertainty, as energies are.
std::string tokens_per_joule_text(const LiveFigures& figures) {
  const auto tokens = figures.tokens_per_joule();
  if (!tokens) return "-";
  const double expanded = *figures.tokens_per_joule_expanded();
  if (!(expanded > 0)) return fmt::format("{:.3g}", *tokens);
  const int decimals = std::max(0, 1 - static_cast<int>(std::floor(std::log10(expanded))));
  return fixed(*tokens, decimals) + " +- " + fixed(expanded, decimals);
}

std::string share_name(const LiveShare& share) {
  if (share.kind == ShareKind::kIdle) return "(idle)";
  if (share.kind == ShareKind::kUnknown) return "(unknown)";
  return share.value.empty() ? "(none)" : printable(share.value);
}

/// The gauges' text as it grows.
class Gauges {
 public:
  void head(std::string_view name, std::string_view help) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
  }
  void add(std::string_view name, std::string_view help, const std::optional<double>& value) {
    if (!value) return;
    head(name, help);
    sample(name, "", *value);
  }
  void sample(std::string_view name, const std::string& labels, double value) {
    text_ += fmt::format("{}{} {}\n", name, labels, exact(value));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::optional<double> watts(const std::optional<Watts>& power) {
  if (!power) return std::nullopt;
  return power->value();
}

void add_shares(Gauges& gauges, const LiveFigures& figures, const std::string& split_by) {
  constexpr std::string_view kShare = "perjoule_serving_share_watts";
  constexpr std::string_view kNobodys = "perjoule_serving_unattributed_watts";
  if (figures.shares.empty() || !figures.power()) return;
  const auto power = [&](const LiveShare& share) {
    return (share.energy.joules / figures.energy_time).value();
  };
  gauges.head(kShare, "Mean power by " + split_by + ", an estimate.");
  for (const LiveShare& share : figures.shares) {
    if (share.kind == ShareKind::kValue)
      gauges.sample(kShare, fmt::format("{{{}=\"{}\"}}", split_by, escaped(share.value)),
                    power(share));
  }
  gauges.head(kNobodys, "Mean power that is nobody's: no token was made, or it is not known.");
  for (const LiveShare& share : figures.shares) {
    if (share.kind == ShareKind::kValue) continue;
    const bool idle = share.kind == ShareKind::kIdle;
    gauges.sample(kNobodys, idle ? "{reason=\"idle\"}" : "{reason=\"unknown\"}", power(share));
  }
}

std::string share_lines(const LiveFigures& figures, const std::string& label) {
  if (figures.shares.empty()) return "";
  Table table({{label},
               {"PROMPT TOKENS", Table::Align::kRight},
               {"OUTPUT TOKENS", Table::Align::kRight},
               {"SHARE", Table::Align::kRight},
               {"ENERGY", Table::Align::kRight},
               {"STATUS"}});
  for (const LiveShare& share : figures.shares) {
    table.add({share_name(share), count_text(share.prompt_tokens), count_text(share.output_tokens),
               share.share ? percent(*share.share, 1) : "-", with_uncertainty(share.energy),
               share.energy.status_text()});
  }
  return "\n" + table.text();
}

}  // namespace

Json watch_json(const LiveFigures& figures, std::string_view span) {
  Json json = Json::object();
  json["schema"] = "perjoule.bench-watch.v1";
  json["span"] = span;
  json["duration_s"] = figures.duration.value();
  json["energy_s"] = figures.energy_time.value();
  json["tokens_s"] = figures.tokens_time.value();
  json["known_s"] = figures.known_time.value();
  json["energy"] = to_json(figures.energy);
  json["power_w"] = json_or_null(figures.power());
  json["power_expanded_w"] = json_or_null(figures.power_expanded());
  json["prompt_tokens"] = json_or_null(figures.prompt_tokens);
  json["output_tokens"] = json_or_null(figures.output_tokens);
  json["output_token"] = to_json(figures.output_token);
  json["total_token"] = to_json(figures.total_token);
  json["tokens_per_joule"] = json_or_null(figures.tokens_per_joule());
  json["tokens_per_joule_expanded"] = json_or_null(figures.tokens_per_joule_expanded());
  json["running"] = json_or_null(figures.running);
  json["waiting"] = json_or_null(figures.waiting);
  if (!figures.shares.empty()) {
    json["shares"] = Json::array();
    for (const LiveShare& share : figures.shares) json["shares"].push_back(json_of(share));
  }
  json["notes"] = Json::array();
  for (const std::string& note : figures.notes) json["notes"].push_back(note);
  return json;
}

std::string watch_gauges(const LiveFigures& figures, const std::string& split_by) {
  Gauges gauges;
  gauges.add("perjoule_serving_power_watts", "Mean power of what is measured.",
             watts(figures.power()));
  gauges.add("perjoule_serving_power_watts_expanded", "Its uncertainty, k = 2.",
             watts(figures.power_expanded()));
  gauges.add("perjoule_serving_output_tokens_per_second", "Output tokens a second.",
             figures.tokens_per_second());
  if (const auto tokens = figures.tokens_per_joule()) {
    gauges.add("perjoule_serving_joules_per_output_token", "Energy of an output token.",
               figures.output_token.joules.value());
    gauges.add("perjoule_serving_joules_per_output_token_expanded", "Its uncertainty, k = 2.",
               figures.output_token.expanded_uncertainty().value());
    gauges.add("perjoule_serving_tokens_per_joule", "Output tokens a joule.", tokens);
    gauges.add("perjoule_serving_tokens_per_joule_expanded", "Its uncertainty, k = 2.",
               figures.tokens_per_joule_expanded());
  }
  add_shares(gauges, figures, split_by);
  return gauges.take();
}

std::string_view watch_heading() {
  return "   TIME            POWER  RUNNING  WAITING  OUT TOK/S    J AN OUTPUT TOKEN          "
         "TOK/J\n";
}

std::string watch_row(const LiveFigures& figures, Seconds since) {
  return fmt::format("{:>7}  {:>15}  {:>7}  {:>7}  {:>9}  {:>19}  {:>13}\n", to_text(since, 3),
                     power_text(figures), count_text(figures.running), count_text(figures.waiting),
                     count_text(figures.tokens_per_second(), 1), token_text(figures),
                     tokens_per_joule_text(figures));
}

std::string watch_summary(const LiveFigures& whole, const std::string& split_by) {
  std::string tokens = "output tokens unknown";
  if (whole.output_tokens == 0) {
    tokens = "no output token";
  } else if (whole.output_tokens) {
    tokens = fmt::format("{:.0f} output tokens, {} each", *whole.output_tokens,
                         with_uncertainty(whole.output_token));
  }
  std::string text =
      fmt::format("\nin {}: {} ({}), {}\n", to_text(whole.duration, 3),
                  with_uncertainty(whole.energy), whole.energy.status_text(), tokens);
  if (whole.is_partial) {
    const auto part = [&](Seconds known) {
      return fmt::format("{} of {}", fixed(known.value(), 1), to_text(whole.duration, 3));
    };
    text += fmt::format("energy known for {}, tokens for {}, both for {}\n",
                        part(whole.energy_time), part(whole.tokens_time), part(whole.known_time));
  }
  return text + share_lines(whole, split_by);
}

}  // namespace perjoule::cli

// perjoule bench watch: the energy of a token on a server that others load.
#include <fmt/format.h>

#include <limits>

#include "base/energy_json.h"
#include "base/energy_text.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/bench_job.h"
#include "cli/bench_load.h"
#include "cli/stop_on_signal.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "meter/sampler.h"
#include "serving/engine/live_energy.h"

namespace perjoule::cli {
namespace {

constexpr Seconds kLook{0.05};

Json json_of(const LiveFigures& figures, std::string_view span) {
  Json json = Json::object();
  json["schema"] = "perjoule.bench-watch.v1";
  json["span"] = span;
  json["duration_s"] = figures.duration.value();
  json["energy"] = to_json(figures.energy);
  json["power_w"] = figures.power.value();
  json["prompt_tokens"] = figures.prompt_tokens;
  json["output_tokens"] = figures.output_tokens;
  json["output_token"] = to_json(figures.output_token);
  json["total_token"] = to_json(figures.total_token);
  json["tokens_per_joule"] = figures.tokens_per_joule();
  json["running"] = figures.running ? Json(*figures.running) : Json();
  json["waiting"] = figures.waiting ? Json(*figures.waiting) : Json();
  if (!figures.shares.empty()) {
    Json shares = Json::array();
    for (const LiveShare& share : figures.shares) {
      Json one = Json::object();
      one["value"] = share.value;
      one["prompt_tokens"] = share.prompt_tokens;
      one["output_tokens"] = share.output_tokens;
      one["share"] = share.share;
      one["energy"] = to_json(share.energy);
      shares.push_back(std::move(one));
    }
    json["shares"] = std::move(shares);
  }
  json["notes"] = Json::array();
  for (const std::string& note : figures.notes) json["notes"].push_back(note);
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

/// In Prometheus's text format, for node_exporter's textfile collector.
std::string gauges_of(const LiveFigures& figures, const std::string& split_by) {
  std::string text;
  const auto gauge = [&text](const char* name, const char* help, double value) {
    text +=
        fmt::format("# HELP {} {}\n# TYPE {} gauge\n{} {}\n", name, help, name, name, exact(value));
  };
  gauge("perjoule_serving_power_watts", "Mean power of what is measured.", figures.power.value());
  gauge("perjoule_serving_output_tokens_per_second", "Output tokens a second.",
        figures.duration.value() > 0 ? figures.output_tokens / figures.duration.value() : 0);
  if (figures.output_token.status != Status::kMissing) {
    gauge("perjoule_serving_joules_per_output_token", "Energy of an output token.",
          figures.output_token.joules.value());
    gauge("perjoule_serving_joules_per_output_token_expanded", "Its uncertainty, k = 2.",
          figures.output_token.expanded_uncertainty().value());
    gauge("perjoule_serving_tokens_per_joule", "Output tokens a joule.",
          figures.tokens_per_joule());
  }
  if (!figures.shares.empty()) {
    const char* const name = "perjoule_serving_share_watts";
    text += fmt::format("# HELP {} Mean power by {}, an estimate.\n# TYPE {} gauge\n", name,
                        split_by, name);
    for (const LiveShare& share : figures.shares) {
      text += fmt::format("{}{{{}=\"{}\"}} {}\n", name, split_by, escaped(share.value),
                          exact(share.energy.joules.value() / figures.duration.value()));
    }
  }
  return text;
}

constexpr std::string_view kHeading =
    "   TIME     POWER  RUNNING  WAITING  OUT TOK/S    J AN OUTPUT TOKEN  TOK/J\n";

std::string row_of(const LiveFigures& figures, Seconds since) {
  const auto count = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : std::string("-");
  };
  const bool known = figures.output_token.status != Status::kMissing;
  return fmt::format("{:>7}  {:>8}  {:>7}  {:>7}  {:>9.1f}  {:>19}  {:>5}\n", to_text(since, 3),
                     to_text(figures.power, 3), count(figures.running), count(figures.waiting),
                     figures.output_tokens / std::max(figures.duration.value(), 1e-9),
                     known ? with_uncertainty(figures.output_token) : "none was made",
                     known ? fmt::format("{:.3g}", figures.tokens_per_joule()) : "-");
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
    table.add({share.value.empty() ? "(none)" : printable(share.value),
               fmt::format("{:.0f}", share.prompt_tokens),
               fmt::format("{:.0f}", share.output_tokens), percent(share.share, 1),
               with_uncertainty(share.energy), share.energy.status_text()});
  }
  return "\n" + table.text();
}

struct WatchWords {
  Seconds every;
  std::optional<Seconds> duration;
  LiveOptions live;
  HttpUrl url;
};

Result<WatchWords> read_words(const Arguments& arguments) {
  WatchWords words;
  PJ_TRY(const auto every, arguments.read<Seconds>("every", parse_seconds));
  if (every->value() < 0.5 || every->value() > 3600) {
    return Error::invalid_argument("--every " + arguments.value("every") +
                                   ": outside 0.5 s to 1 h");
  }
  words.every = *every;
  PJ_TRY(words.duration, arguments.read<Seconds>("for", parse_seconds));
  if (words.duration && !(words.duration->value() > 0))
    return Error::invalid_argument("--for " + arguments.value("for") + ": not above 0");
  words.live.split_by = arguments.value("split");
  PJ_TRY(const auto weight, read_positive(arguments, "output-weight"));
  if (weight) words.live.output_weight = *weight;
  if (!arguments.has("metrics"))
    return Error::invalid_argument("no server to watch", "--metrics http://localhost:8000/metrics");
  auto url = HttpUrl::parse(arguments.value("metrics"));
  if (!url) return fail(url, "--metrics");
  words.url = std::move(*url);
  if (arguments.has("textfile")) {
    const auto can = check_writable(arguments.value("textfile"));
    if (!can) return fail(can, "--textfile");
  }
  return words;
}

Outcome tell(const Arguments& arguments, const WatchWords& words, const LiveFigures& figures,
             Seconds since) {
  if (arguments.json()) {
    print(json_of(figures, "step").dump() + "\n");
  } else {
    print(row_of(figures, since));
    for (const std::string& note : figures.notes) print("note: " + note + "\n");
  }
  if (arguments.has("textfile")) {
    PJ_CHECK(write_file_atomically(arguments.value("textfile"),
                                   gauges_of(figures, words.live.split_by)));
  }
  return {};
}

Result<int> watch(const Arguments& arguments) {
  PJ_TRY(const WatchWords words, read_words(arguments));
  const RealClock clock;
  PJ_TRY(const BenchMachine machine, BenchMachine::find(arguments, clock));
  PJ_TRY(auto reader, EngineReader::create(clock, words.url, arguments.value("token-variable")));
  PJ_TRY(const auto signals, StopOnSignal::start());
  Meter meter(machine.sources(), clock, 0, machine.calibrations());
  PJ_TRY(const auto sampler, Sampler::start(meter, Seconds(0.1)));
  LiveEnergy live(meter, std::move(reader), words.live);
  PJ_CHECK(live.begin());
  const Instant begun = clock.now();
  if (!arguments.json()) print(kHeading);
  const Instant end =
      words.duration ? begun + *words.duration : Instant{std::numeric_limits<std::int64_t>::max()};
  std::size_t failed = 0;
  for (std::size_t step = 1;; ++step) {
    Instant next = begun + words.every * static_cast<double>(step);
    const bool last = end <= next;
    if (last) next = end;
    while (clock.now() < next && signals->signal() == 0)
      clock.sleep_until(std::min(next, clock.now() + kLook));
    const auto figures = live.step();
    if (figures) {
      failed = 0;
      PJ_CHECK(tell(arguments, words, *figures, clock.now() - begun));
    } else {
      // A server that is restarted comes back; one that stays away ends the watch.
      complain(figures.error().text());
      if (++failed >= 10) return fail(figures);
    }
    if (output_failed() != 0) break;
    if (last || signals->signal() != 0) break;
  }
  sampler->stop();
  PJ_TRY(const LiveFigures whole, live.whole());
  if (arguments.json()) {
    print(json_of(whole, "whole").dump() + "\n");
  } else {
    print(fmt::format("\nin {}: {} ({}), {:.0f} output tokens, {} each\n",
                      to_text(whole.duration, 3), with_uncertainty(whole.energy),
                      whole.energy.status_text(), whole.output_tokens,
                      with_uncertainty(whole.output_token)) +
          share_lines(whole, words.live.split_by));
  }
  return signals->signal() == 0 ? kDone : kSignalled + signals->signal();
}

}  // namespace

Verb bench_watch_verb() {
  Verb verb;
  verb.name = "bench watch";
  verb.summary = "the energy of a token on a server that others load";
  verb.description =
      "Sends nothing but a look at the server's own counters (vLLM's, SGLang's, llama.cpp's) every "
      "now and then, and holds them against the meters of the GPUs it runs on: power, joules a "
      "token with uncertainty, tokens a joule. With --split the energy is shared out by a label of "
      "the counters; that is an estimate by tokens, whose parts sum to the whole. With --json a "
      "document a line, the last one of the whole time.";
  verb.options = {
      {"metrics", "URL", "the page of the server's own counters"},
      {"sources", "WORD,...", "what is measured: gpu, 0, 1, UUIDs, cpu, all", "", true},
      {"every", "TIME", "how often it is looked at", "10s"},
      {"for", "TIME", "how long; until it is interrupted where it is left out"},
      {"split", "LABEL", "share the energy out by this label: model_name, tenant, lora, pod"},
      {"output-weight", "W", "with --split: prompt tokens that an output token takes as much as",
       "10"},
      {"textfile", "FILE",
       "write the figures as Prometheus gauges, for node_exporter's textfile collector"},
      {"token-variable", "NAME", "the variable that holds the bearer token", "OPENAI_API_KEY"},
  };
  verb.examples = {
      "perjoule bench watch --metrics http://localhost:8000/metrics --sources 0,1,2,3",
      "perjoule bench watch --metrics http://localhost:8000 --every 30s --split model_name --json"};
  verb.run = watch;
  return verb;
}

}  // namespace perjoule::cli

// perjoule bench watch: the energy of a token on a server that others load.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/file.h"
#include "base/text.h"
#include "cli/bench_job.h"
#include "cli/bench_load.h"
#include "cli/bench_watch_view.h"
#include "cli/stop_on_signal.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "meter/sampler.h"
#include "serving/engine/live_energy.h"

namespace perjoule::cli {
namespace {

constexpr Seconds kLook{0.05};

struct WatchWords {
  Seconds every;
  std::optional<Seconds> duration;
  LiveOptions live;
  HttpUrl url;
  HttpClientOptions http;
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
  words.http.tls.verifies = !arguments.has("insecure");
  words.http.tls.authorities = arguments.value("ca");
  if (arguments.has("textfile")) {
    const auto can = check_writable(arguments.value("textfile"));
    if (!can) return fail(can, "--textfile");
  }
  return words;
}

/// A file of gauges that is there only while they are true.
class TextFile {
 public:
  explicit TextFile(std::string path) : path_(std::move(path)) {}
  ~TextFile() { remove(); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  /// Complains once as long as it cannot be written.
  void write(const std::string& text) {
    if (path_.empty()) return;
    const Outcome written = write_file_atomically(path_, text);
    if (written) {
      is_there_ = true;
    } else if (!has_failed_) {
      complain("--textfile: " + written.error().text());
      remove();
    }
    has_failed_ = !written;
  }
  void remove() {
    if (is_there_) std::remove(path_.c_str());
    is_there_ = false;
  }

 private:
  std::string path_;
  bool is_there_ = false;
  bool has_failed_ = false;
};

/// Step after step, until the time is over or a signal comes.
class Watch {
 public:
  Watch(const Arguments& arguments, const WatchWords& words, const Clock& clock, LiveEnergy& live,
        const StopOnSignal& signals)
      : arguments_(arguments),
        words_(words),
        clock_(clock),
        live_(live),
        signals_(signals),
        textfile_(arguments.value("textfile")),
        begun_(clock.now()),
        last_page_(begun_) {}

  /// Whether the last look brought a page.
  bool run() {
    if (!arguments_.json()) print(watch_heading());
    const Instant end = words_.duration ? begun_ + *words_.duration
                                        : Instant{std::numeric_limits<std::int64_t>::max()};
    for (;;) {
      // A look that took longer than `every` is followed by the next whole multiple of it.
      const double steps = std::floor((clock_.now() - begun_) / words_.every) + 1;
      const Instant next = std::min(begun_ + words_.every * steps, end);
      while (clock_.now() < next && signals_.signal() == 0)
        clock_.sleep_until(std::min(next, clock_.now() + kLook));
      look();
      if (clock_.now() >= end || signals_.signal() != 0 || output_failed() != 0) return !is_out_;
    }
  }

 private:
  void look() {
    const auto figures = live_.step();
    if (!figures) {
      textfile_.remove();
      if (!is_out_) {
        complain(fmt::format("no page since {}, still looking: {}", to_text(last_page_ - begun_, 3),
                             figures.error().text()));
      }
      is_out_ = true;
      return;
    }
    is_out_ = false;
    last_page_ = clock_.now();
    textfile_.write(watch_gauges(*figures, words_.live.split_by));
    if (arguments_.json()) {
      print(watch_json(*figures, "step").dump() + "\n");
      return;
    }
    print(watch_row(*figures, last_page_ - begun_));
    // What stays so is said once.
    if (figures->notes != notes_) {
      for (const std::string& note : figures->notes) print("note: " + note + "\n");
    }
    notes_ = figures->notes;
  }

  const Arguments& arguments_;
  const WatchWords& words_;
  const Clock& clock_;
  LiveEnergy& live_;
  const StopOnSignal& signals_;
  TextFile textfile_;
  Instant begun_;
  Instant last_page_;
  bool is_out_ = false;  ///< the last look brought none
  std::vector<std::string> notes_;
};

Result<int> watch(const Arguments& arguments) {
  PJ_TRY(const WatchWords words, read_words(arguments));
  const RealClock clock;
  PJ_TRY(const BenchMachine machine, BenchMachine::find(arguments, clock));
  PJ_TRY(const auto reader,
         EngineReader::create(clock, words.url, arguments.value("token-variable"), words.http));
  PJ_TRY(const auto signals, StopOnSignal::start());
  Meter meter(machine.sources(), clock, 0, machine.calibrations());
  PJ_TRY(const auto sampler, Sampler::start(meter, Seconds(0.1)));
  LiveEnergy live(
      meter, [&reader] { return reader->read(); }, words.live);
  PJ_CHECK(live.begin());
  const bool is_there = Watch(arguments, words, clock, live, *signals).run();
  const LiveFigures whole = live.end();
  sampler->stop();
  if (arguments.json()) {
    print(watch_json(whole, "whole").dump() + "\n");
  } else {
    print(watch_summary(whole, words.live.split_by));
  }
  if (!is_there) return kMachineCannot;
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
      "the counters; that is an estimate by tokens, whose parts sum to the whole. A server that "
      "goes "
      "away is looked for until it is back: what is not known of that while is said. With --json a "
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
       "the figures as Prometheus gauges, for node_exporter's textfile collector; removed at the "
       "end "
       "and while there are none"},
      {"token-variable", "NAME", "the variable that holds the bearer token", "OPENAI_API_KEY"},
      {"ca", "FILE", "trust these authorities (PEM) in place of the system's"},
      {"insecure", "", "trust any certificate"},
  };
  verb.examples = {
      "perjoule bench watch --metrics http://localhost:8000/metrics --sources 0,1,2,3",
      "perjoule bench watch --metrics http://localhost:8000 --every 30s --split model_name --json"};
  verb.run = watch;
  return verb;
}

}  // namespace perjoule::cli

#include "serving/bench/bench_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "meter/course_energy.h"

namespace perjoule {
namespace {

constexpr std::string_view kStationaryRule = "stationary";
constexpr std::string_view kFullBatchRule = "full batch";
constexpr std::string_view kWholeRunRule = "whole run";

SteadyWindow whole_run(const BenchRun& run) {
  SteadyWindow window;
  window.from = run.load.begun;
  window.until = run.load.ended;
  for (const RequestRecord& record : run.load.records)
    window.from = std::min(window.from, record.sent);
  return window;
}

/// Energy over a count; a token's stamp may lag behind its step at either end.
Energy per(const Energy& energy, double count, Joules lag) {
  if (!(count > 0) || energy.status == Status::kMissing)
    return Energy::missing(energy.source, energy.boundary);
  Energy one = energy;
  one.random = Joules(std::hypot(one.random.value(), std::sqrt(2.0) * lag.value()));
  one.lower = one.lower - 2.0 * lag;
  one.upper = one.upper + 2.0 * lag;
  return one / count;
}

class Figures {
 public:
  Figures(const BenchRun& run, const BenchAsk& ask) : run_(run), ask_(ask), power_(run.power()) {}

  Result<BenchFigures> make() {
    PJ_CHECK(choose_window());
    const RuleFigures& rule = figures_.rule();
    const SteadyWindow& window = *rule.window;
    figures_.used = measured(window);
    figures_.whole = measured(whole_run(run_));
    figures_.power = figures_.used.mean_power();
    lengths();
    const Energy energy = total();
    figures_.output_token = rule.output_token;
    figures_.total_token =
        rule.totals.prompt_tokens > 0
            ? per(energy,
                  static_cast<double>(rule.totals.output_tokens + rule.totals.prompt_tokens),
                  lag_energy(energy, window))
            : Energy::missing(energy.source, energy.boundary);
    figures_.response = figures_.mean_output > 0 ? figures_.output_token * figures_.mean_output
                                                 : Energy::missing(energy.source, energy.boundary);
    auto phases = ask_.prefill_devices.empty() ? phase_energy(run_.load.records, power_, window)
                                               : phases_of_gpus(rule.totals);
    if (phases) {
      figures_.phases = *phases;
      // What the batches' scatter does not show: the sensors' own errors.
      if (phases->rule == PhaseRule::kRegression && energy.joules.value() > 0) {
        const double sensor = energy.standard_uncertainty() / energy.joules;
        const auto widen = [sensor](Joules value, Joules& sigma) {
          sigma = Joules(std::hypot(sigma.value(), sensor * value.value()));
        };
        widen(phases->prompt_token, figures_.phases->prompt_sigma);
        widen(phases->output_token, figures_.phases->output_sigma);
      }
    } else {
      figures_.phases_absent = phases.error().text();
    }
    figures_.latency = latency_report(run_.load.records);
    goodput_figures(energy, window);
    engine_figures(window);
    judge();
    return std::move(figures_);
  }

 private:
  Outcome choose_window() {
    const bool any = ask_.window == WindowChoice::kBest;
    if (any || ask_.window == WindowChoice::kStationary) {
      auto found = stationary_window(run_.load.records, power_);
      add(kStationaryRule, found ? Result<SteadyWindow>(found->window) : fail(found));
    }
    if (ask_.window == WindowChoice::kFullBatch && !ask_.max_num_seqs) {
      return Error::invalid_argument(
          "ML.ENERGY's window begins when the server's batch is full, and how large that is is not "
          "said",
          "--max-num-seqs says it");
    }
    if (ask_.max_num_seqs && (any || ask_.window == WindowChoice::kFullBatch))
      add(kFullBatchRule, full_batch_window(run_.load.records, *ask_.max_num_seqs));
    // What was asked for and is not there must not cost the run: its figures are void, not lost.
    is_wanting_ = !any && !figures_.rules.empty() && !figures_.rules.front().window;
    if (any || is_wanting_ || ask_.window == WindowChoice::kWholeRun)
      add(kWholeRunRule, whole_run(run_));
    const auto first =
        std::find_if(figures_.rules.begin(), figures_.rules.end(),
                     [](const RuleFigures& rule) { return rule.window.has_value(); });
    figures_.chosen = static_cast<std::size_t>(first - figures_.rules.begin());
    return {};
  }

  void add(std::string_view rule, Result<SteadyWindow> window) {
    RuleFigures figures;
    figures.rule = rule;
    if (!window) {
      figures.absent = window.error().text();
    } else {
      figures.window = *window;
      figures.totals = window_totals(run_.load.records, *window);
      const Energy energy = measured(*window).total();
      figures.output_token = per(energy, static_cast<double>(figures.totals.output_tokens),
                                 lag_energy(energy, *window));
    }
    figures_.rules.push_back(std::move(figures));
  }

  Energy total() const { return figures_.used.total(); }

  Measurement measured(const SteadyWindow& window) const {
    Measurement all = measurement_between(run_.courses, run_.around, window.from, window.until);
    if (!ask_.remote) return all;
    for (SourceMeasurement& one : ask_.remote(window.from, window.until))
      all.sources.push_back(std::move(one));
    return all;
  }

  /// What is drawn while a token is on its way from its step to its stamp.
  Joules lag_energy(const Energy& energy, const SteadyWindow& window) const {
    if (!(window.duration().value() > 0)) return {};
    return energy.joules * (run_.load.loop_delay.p99 / window.duration());
  }

  Result<PhaseEnergy> phases_of_gpus(const WindowTotals& totals) const {
    const auto prefills = [&](const std::string& device) {
      const auto& all = ask_.prefill_devices;
      return std::find(all.begin(), all.end(), device) != all.end();
    };
    std::optional<Energy> of[2];
    for (const SourceMeasurement& source : figures_.used.sources) {
      if (!figures_.used.is_summed(source)) continue;
      std::optional<Energy>& sum = of[prefills(source.info.device) ? 0 : 1];
      sum = sum ? *sum + source.energy : source.energy;
    }
    return phase_energy(of[0].value_or(Energy::missing("")), of[1].value_or(Energy::missing("")),
                        totals);
  }

  void lengths() {
    double prompts = 0, outputs = 0, count = 0;
    for (const RequestRecord& record : run_.load.records) {
      if (!record.succeeded()) continue;
      prompts += static_cast<double>(record.response.tokens.prompt.value_or(0));
      outputs += static_cast<double>(record.response.tokens.output);
      ++count;
    }
    if (count == 0) return;
    figures_.mean_prompt = prompts / count;
    figures_.mean_output = outputs / count;
  }

  void goodput_figures(const Energy& energy, const SteadyWindow& window) {
    const LatencyLimits& limits = ask_.limits;
    if (!limits.ttft && !limits.tpot && !limits.itl && !limits.e2el) return;
    std::vector<RequestRecord> inside;
    std::int64_t tokens = 0;
    for (const RequestRecord& record : run_.load.records) {
      if (record.ended > window.from && record.ended <= window.until) inside.push_back(record);
      if (!meets(record, limits)) continue;
      // Of the same tokens that the window's are of: those stamped in it.
      for (const Chunk& chunk : record.response.chunks) {
        if (chunk.at > window.from && chunk.at <= window.until) tokens += chunk.tokens;
      }
    }
    figures_.goodput = goodput(inside, limits, window.duration());
    figures_.goodput->tokens = tokens;
    if (window.duration().value() > 0)
      figures_.goodput->token_rate = static_cast<double>(tokens) / window.duration();
    figures_.good_token = per(energy, static_cast<double>(tokens), lag_energy(energy, window));
  }

  void engine_figures(const SteadyWindow& window) {
    const auto& scrapes = run_.engine.scrapes;
    if (run_.engine.failed > 0) {
      figures_.notes.push_back(fmt::format(
          "{} of the server's counters failed, the last one: {}",
          counted(static_cast<double>(run_.engine.failed), "reading"), run_.engine.last_failure));
    }
    if (scrapes.empty()) {
      figures_.engine_absent = "the server's own counters were not read";
      return;
    }
    const auto first = std::find_if(scrapes.begin(), scrapes.end(),
                                    [&](const EngineScrape& one) { return one.at >= window.from; });
    const auto behind = std::find_if(
        first, scrapes.end(), [&](const EngineScrape& one) { return one.at > window.until; });
    if (behind - first < 2) {
      figures_.engine_absent = "the window holds no two readings of the server's own counters";
      return;
    }
    auto change = engine_change(*first, *(behind - 1));
    if (!change) {
      figures_.engine_absent = change.error().text();
      return;
    }
    figures_.engine = std::move(*change);
    hold_against_server(*first, *(behind - 1));
    for (const std::string& name : figures_.engine->restarted)
      figures_.validity.push_back("the server's " + name + " was restarted within the window");
  }

  /// The server's own count of the same while tells whether our tokens are all that it made.
  void hold_against_server(const EngineScrape& first, const EngineScrape& last) {
    const auto made = figures_.engine->counter(EngineCounter::kGenerationTokens);
    // SGLang counts an answer when it ends: in a short while that is not what it made.
    if (!made || !figures_.engine->is_whole() || first.server == "sglang") return;
    SteadyWindow stretch;
    stretch.from = first.at;
    stretch.until = last.at;
    const WindowTotals totals = window_totals(run_.load.records, stretch);
    const double ours = static_cast<double>(totals.output_tokens);
    // Tokens on their way at either end.
    const double slack = 0.05 * *made + 4 * totals.mean_running + 16;
    if (std::abs(*made - ours) <= slack) return;
    figures_.validity.push_back(fmt::format(
        "the server counted {:.0f} output tokens in {}, and {:.0f} came to us: {}", *made,
        to_text(stretch.duration(), 3), ours,
        *made > ours ? "someone else loads it, or chunks held several tokens and no usage was told"
                     : "its counters are of another server"));
  }

  void note_counts() {
    std::size_t by_chunks = 0;
    for (const RequestRecord& record : run_.load.records)
      by_chunks += record.response.tokens.source == CountSource::kChunks ? 1 : 0;
    if (by_chunks == 0) return;
    figures_.notes.push_back(fmt::format(
        "the server told no count of tokens for {}: each chunk counted as one, which is too few "
        "where chunks hold several",
        counted(static_cast<double>(by_chunks), "answer")));
  }

  /// An energy that is not known makes a run void that was to measure one.
  void judge_energy() {
    if (figures_.used.sources.empty()) return;
    const Energy energy = total();
    if (energy.status != Status::kMissing && !energy.one_sided()) return;
    std::string why;
    for (const SourceMeasurement& source : figures_.used.sources) {
      if (!figures_.used.is_summed(source) || source.notes.empty()) continue;
      if (source.energy.status == Status::kMissing || source.energy.one_sided())
        why = ": " + source.info.id + " " + source.notes.back();
    }
    figures_.validity.push_back((energy.status == Status::kMissing
                                     ? "the window's energy is not known"
                                     : "the window's energy is only a bound") +
                                why);
  }

  void judge() {
    judge_energy();
    note_counts();
    const LatencyReport& latency = figures_.latency;
    if (is_wanting_) {
      figures_.validity.push_back(fmt::format("there is no window of the rule '{}': {}",
                                              figures_.rules.front().rule,
                                              figures_.rules.front().absent));
    }
    if (run_.load.bottleneck) figures_.validity.push_back(run_.load.bottleneck->text());
    if (latency.failed_share() > ask_.most_failed) {
      figures_.validity.push_back(fmt::format("{} of the requests failed, where {} are allowed",
                                              percent(latency.failed_share(), 1),
                                              percent(ask_.most_failed, 1)));
    } else if (latency.failed() > 0) {
      figures_.notes.push_back(
          fmt::format("{} failed: no part of the latencies, part of the energy",
                      counted(static_cast<double>(latency.failed()), "request")));
    }
    const RuleFigures& rule = figures_.rule();
    if (!rule.window->warning.empty()) figures_.notes.push_back(rule.window->warning);
    if (rule.rule == kWholeRunRule && ask_.window == WindowChoice::kBest) {
      figures_.notes.push_back(
          "no steady state was found, and the figures are of the whole run, "
          "its beginning and end among it: " +
          figures_.rules.front().absent);
    }
    if (latency.bursts.any()) {
      figures_.notes.push_back(
          fmt::format("chunks come in bursts, {:.1f} at a time: gaps between tokens are those of a "
                      "buffer on the way",
                      latency.bursts.chunks_per_burst));
    }
    for (const SourceMeasurement& source : figures_.used.sources) {
      for (const std::string& note : source.notes)
        figures_.notes.push_back(source.info.id + ": " + note);
    }
    if (run_.missed_ticks > 0)
      figures_.notes.push_back(fmt::format(
          "the sampler slept through {}", counted(static_cast<double>(run_.missed_ticks), "tick")));
  }

  const BenchRun& run_;
  const BenchAsk& ask_;
  std::vector<PowerReading> power_;
  BenchFigures figures_;
  bool is_wanting_ = false;  ///< the one rule that was asked for gives no window
};

}  // namespace

Result<BenchFigures> bench_figures(const BenchRun& run, const BenchAsk& ask) {
  if (run.load.records.empty()) return Error::unavailable("no request was sent");
  return Figures(run, ask).make();
}

}  // namespace perjoule

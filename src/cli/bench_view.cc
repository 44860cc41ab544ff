#include "cli/bench_view.h"

#include <fmt/format.h>

#include <cmath>

#include "base/energy_text.h"
#include "base/text.h"
#include "cli/table.h"
#include "serving/board/gpu_tdp.h"

namespace perjoule::cli {
namespace {

constexpr auto kRight = Table::Align::kRight;

std::string load_text(const BenchLoad& load) {
  if (load.concurrency) return fmt::format("{} at once", *load.concurrency);
  if (!load.asked_per_s || std::isinf(*load.asked_per_s)) return "all at once";
  return fmt::format("{:.4g} a second", *load.asked_per_s);
}

std::string heading(const BenchResult& result, const BenchFigures& figures, const BenchRun& run,
                    const BenchContext& context) {
  const RuleFigures& rule = figures.rule();
  return fmt::format(
      "{}, {}: {}, {}; {} answered in {}\n{} window: {} from {} on, {} and {}\n",
      printable(result.model.id), printable(result.task),
      counted(static_cast<double>(figures.latency.requests), "request"), load_text(context.load),
      figures.latency.succeeded, to_text(run.load.ended - run.load.begun, 3), rule.rule,
      to_text(rule.window->duration(), 3), to_text(rule.window->from - run.load.begun, 3),
      counted(static_cast<double>(rule.totals.output_tokens), "output token"),
      counted(static_cast<double>(rule.totals.responses), "response"));
}

std::string energy_lines(const BenchResult& result, const BenchFigures& figures) {
  if (figures.used.sources.empty()) return "no energy was measured (--sources)\n";
  Table table({{"ENERGY"}, {"", kRight}, {"STATUS"}, {"BOUNDARY"}, {"GRADE"}});
  const auto add = [&table](const std::string& what, const Energy& energy) {
    const bool known = energy.status != Status::kMissing;
    table.add({what, with_uncertainty(energy), energy.status_text(),
               known ? std::string(name_of(energy.boundary)) : "",
               known ? std::string(name_of(energy.grade())) : ""});
  };
  add("an output token", figures.output_token);
  add("a token, prompts among them", figures.total_token);
  add(fmt::format("a response of {:.0f} tokens", figures.mean_output), figures.response);
  if (figures.good_token) add("an output token within the limits", *figures.good_token);
  add("the window", figures.used.total());
  add("the whole run", figures.whole.total());
  std::string text = table.text();
  if (result.power && figures.output_token.joules.value() > 0) {
    text += fmt::format("mean power {}, {:.4g} output tokens per joule\n",
                        to_text(*result.power, 4), 1 / figures.output_token.joules.value());
  }
  if (const auto estimate = tdp_estimate(result)) {
    text += fmt::format("by thermal design power it would seem {}, {:.2f} times as much\n",
                        to_text(estimate->per_unit, 4), estimate->ratio);
  }
  if (figures.phases) {
    const PhaseEnergy& phases = *figures.phases;
    text += fmt::format(
        "prefill {} a prompt token, decode {} an output token (by {}): {} of the energy is "
        "prefill's\n",
        with_uncertainty(phases.prompt_token, 2 * phases.prompt_sigma),
        with_uncertainty(phases.output_token, 2 * phases.output_sigma),
        phases.rule == PhaseRule::kGpus
            ? std::string("the GPUs of each")
            : "regression over " + counted(static_cast<double>(phases.batches), "batch"),
        percent(phases.prefill_share, 0));
  } else {
    text += figures.phases_absent + "\n";
  }
  return text;
}

std::string latency_lines(const LatencyReport& report) {
  Table table({{"LATENCY, ALL ANSWERED"},
               {"MEAN", kRight},
               {"P50", kRight},
               {"P90", kRight},
               {"P95", kRight},
               {"P99", kRight},
               {"COUNT", kRight}});
  const auto add = [&table](const char* what, const LatencySeries& series) {
    if (series.count == 0) return;
    table.add({what, to_text(series.mean, 4), to_text(series.p50, 4), to_text(series.p90, 4),
               to_text(series.p95, 4), to_text(series.p99, 4), std::to_string(series.count)});
  };
  add("first token (TTFT)", report.ttft);
  if (report.first_reasoning.count > 0) {
    add("first of reasoning", report.first_reasoning);
    add("first of the answer", report.first_answer);
  }
  add("between tokens (ITL)", report.itl);
  if (report.chunk_gap.count != report.itl.count) add("between chunks", report.chunk_gap);
  add("mean of a request (TPOT)", report.tpot);
  add("end to end", report.e2el);
  return table.text();
}

std::string rate_lines(const BenchResult& result, const BenchFigures& figures) {
  std::string text;
  if (result.rates.output_tokens) {
    text += fmt::format(
        "{:.5g} output tokens and {:.4g} responses a second, {:.4g} requests "
        "running on average\n",
        *result.rates.output_tokens, *result.rates.responses, figures.rule().totals.mean_running);
  }
  if (figures.goodput) {
    text += fmt::format("goodput: {} of the window's requests within the limits, {:.4g} a second\n",
                        percent(figures.goodput->share, 1), figures.goodput->requests.value());
  }
  return text;
}

/// The rules beside one another.
std::string rule_lines(const BenchFigures& figures, Instant begun) {
  Table table({{"WINDOW"},
               {"FROM", kRight},
               {"LENGTH", kRight},
               {"TOKENS", kRight},
               {"AN OUTPUT TOKEN", kRight},
               {""}});
  for (const RuleFigures& rule : figures.rules) {
    if (!rule.window) {
      table.add({rule.rule, "", "", "", "", rule.absent});
      continue;
    }
    table.add({rule.rule, to_text(rule.window->from - begun, 3),
               to_text(rule.window->duration(), 3), std::to_string(rule.totals.output_tokens),
               with_uncertainty(rule.output_token), ""});
  }
  return table.text();
}

}  // namespace

std::string bench_text(const BenchResult& result, const BenchFigures& figures, const BenchRun& run,
                       const BenchContext& context) {
  std::string text = heading(result, figures, run, context) + "\n" + energy_lines(result, figures) +
                     "\n" + latency_lines(figures.latency) + rate_lines(result, figures);
  if (figures.rules.size() > 1) text += "\n" + rule_lines(figures, run.load.begun);
  text += fmt::format("\nthe client's own delay: requests {} late, stamps {} (P99)\n",
                      to_text(run.load.send_delay.p99, 3), to_text(run.load.loop_delay.p99, 3));
  for (const std::string& note : context.notes) text += "note: " + note + "\n";
  for (const std::string& note : figures.notes) text += "note: " + note + "\n";
  for (const std::string& reason : result.validity) text += "void: " + reason + "\n";
  return text;
}

}  // namespace perjoule::cli

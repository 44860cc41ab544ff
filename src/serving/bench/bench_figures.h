// What a run of a benchmark says: the window its figures are of, the energy of a token, a response
// and a phase, and the latencies, with all that a reader must be told beside them.
//
//   PJ_TRY(const BenchFigures figures, bench_figures(run, {.max_num_seqs = 64}));
//   figures.output_token;     // joules, +-, source, boundary, status
//
// Energies are of all that was measured in the window over the tokens that came in it, those of
// requests that failed too: the server made them. A response's is a token's times the mean length
// of the answers (as ML.ENERGY has it). Edges of the window and stamps of tokens are of one clock;
// by how much a token's stamp may lag behind the energy of its step (the client's own delay, P99)
// is part of the uncertainty.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/energy.h"
#include "meter/measurement.h"
#include "serving/bench/bench_run.h"
#include "serving/window/latency_report.h"
#include "serving/window/phase_energy.h"
#include "serving/window/stationary_window.h"

namespace perjoule {

enum class WindowChoice {
  kBest,        ///< ours; ML.ENERGY's where ours finds none and B is known; else all of the run
  kStationary,  ///< ours
  kFullBatch,   ///< ML.ENERGY's
  kWholeRun,    ///< from the first request's sending to the last one's end
};

/// What meters elsewhere saw between two instants, such as another machine's GPUs by Prometheus.
using RemoteMeter = std::function<std::vector<SourceMeasurement>(Instant from, Instant until)>;

struct BenchAsk {
  WindowChoice window = WindowChoice::kBest;
  std::optional<std::size_t> max_num_seqs = {};  ///< the server's B, for ML.ENERGY's rule
  LatencyLimits limits = {};                     ///< of goodput; none: it is not asked for
  /// Ids of devices that prefill, where prefill and decode have GPUs of their own.
  std::vector<std::string> prefill_devices = {};
  RemoteMeter remote = {};    ///< beside the run's own courses
  double most_failed = 0.01;  ///< share of requests above which a run is void
};

/// A window and what it says, or why there is none.
struct RuleFigures {
  std::string rule;  ///< "stationary", "full batch", "whole run"
  std::optional<SteadyWindow> window;
  std::string absent;  ///< why there is none
  WindowTotals totals;
  Energy output_token = Energy::missing("");
};

struct BenchFigures {
  std::vector<RuleFigures> rules;  ///< all that were tried, beside one another
  std::size_t chosen = 0;          ///< whose figures those below are
  Measurement used;                ///< in the window, by source
  Measurement whole;               ///< of the whole run
  Energy output_token = Energy::missing("");
  Energy total_token = Energy::missing("");  ///< prompt tokens among them
  Energy response = Energy::missing("");
  double mean_prompt = 0;  ///< tokens, of the answered requests; 0 where the server tells none
  double mean_output = 0;
  Watts power;  ///< mean
  std::optional<PhaseEnergy> phases;
  std::string phases_absent;
  LatencyReport latency;
  std::optional<Goodput> goodput;      ///< of the window's requests
  std::optional<Energy> good_token;    ///< of the window's energy, a token that met the limits
  std::optional<EngineChange> engine;  ///< what the server counted, in a stretch within the window
  std::string engine_absent;
  std::vector<std::string> notes;     ///< what a reader must know
  std::vector<std::string> validity;  ///< what makes the run void

  const RuleFigures& rule() const { return rules[chosen]; }
};

/// Where the one rule that is asked for gives no window, the figures are of the whole run, and
/// void. invalid_argument for ML.ENERGY's rule without B, unavailable where nothing was sent.
/// O(chunks + samples).
Result<BenchFigures> bench_figures(const BenchRun& run, const BenchAsk& ask);

}  // namespace perjoule

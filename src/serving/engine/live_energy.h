// The energy of a token on a server that others load: its own counters and our meters, each read
// twice, with nothing sent.
//
//   LiveEnergy live(meter, std::move(reader), {});
//   PJ_CHECK(live.begin());
//   ...                                                // a while
//   PJ_TRY(const LiveFigures now, live.step());        // since the last step
//
// Page and meters are read one right behind the other; what may have been drawn in between is part
// of the uncertainty. An engine that was restarted meanwhile has no figures for that step.
//
// Split by a label (tenant, key, adapter, pod) that the server's counters of tokens have: the
// step's energy by the tokens of each value, an output token counted as `output_weight` prompt
// tokens. It is an estimate, whose parts sum to the whole.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meter/meter.h"
#include "serving/engine/engine_watch.h"

namespace perjoule {

struct LiveOptions {
  std::string split_by = {};  ///< a label; empty: no split
  double output_weight = 10;  ///< prompt tokens that an output token takes as much as
};

/// One value of the label.
struct LiveShare {
  std::string value;  ///< empty for what has no such label
  double prompt_tokens = 0;
  double output_tokens = 0;
  double share = 0;  ///< of the energy
  Energy energy = Energy::missing("");
};

struct LiveFigures {
  Seconds duration;  ///< between the two pages
  Energy energy = Energy::missing("");
  Watts power;
  EngineChange engine;
  double prompt_tokens = 0;
  double output_tokens = 0;
  Energy output_token = Energy::missing("");  ///< missing where none was made
  Energy total_token = Energy::missing("");
  std::optional<double> running;  ///< requests, now
  std::optional<double> waiting;
  std::vector<LiveShare> shares;   ///< the largest first
  std::vector<std::string> notes;  ///< why figures are missing

  double tokens_per_joule() const {
    return output_token.joules.value() > 0 ? 1 / output_token.joules.value() : 0;
  }
};

/// Counters of tokens by a label's values on a page: prompt and output. not_found where no sample
/// has it, naming the labels there are.
struct LabelTokens {
  std::string value;
  double prompt = 0;
  double output = 0;
};
Result<std::vector<LabelTokens>> tokens_by_label(const MetricsText& page, std::string_view label);

/// From two pages and what was drawn in between; O(engines + labels).
Result<LiveFigures> live_figures(const EnginePage& before, const EnginePage& after,
                                 const Energy& energy, const LiveOptions& options);

class LiveEnergy {
 public:
  /// The meter must outlive it; a sampler keeps its gauges up (meter/sampler.h).
  LiveEnergy(Meter& meter, std::unique_ptr<EngineReader> reader, LiveOptions options);

  Outcome begin();
  /// Since the last step, or begin().
  Result<LiveFigures> step();
  /// Since begin() until the last step.
  Result<LiveFigures> whole() const;

 private:
  struct Look {
    EnginePage page;
    Energy energy;  ///< since the window's beginning
  };
  Result<Look> look();

  Meter& meter_;
  std::unique_ptr<EngineReader> reader_;
  LiveOptions options_;
  std::optional<Window> window_;
  std::optional<Look> first_;
  std::optional<Look> last_;
};

}  // namespace perjoule

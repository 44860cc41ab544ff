// The energy of a token on a server that others load: its own counters and our meters, each read
// again and again, with nothing sent.
//
//   LiveEnergy live(meter, [&reader] { return reader.read(); }, {});
//   PJ_CHECK(live.begin());
//   ...                                                // a while
//   PJ_TRY(const LiveFigures now, live.step());        // since the last page
//   ...
//   const LiveFigures whole = live.end();
//
// At each look the page is read and right behind it the meters, by which one window ends and the
// next one begins: bounds and faults of a meter are of the step that they fell into. Power is the
// window's energy over the window's own duration; the moment of the page matters to tokens alone,
// and what may have been drawn between page and meters is part of the uncertainty of a token. The
// reading of the meters, milliseconds a look, is in no window: it is part of that uncertainty too.
//
// What is not known is none, never 0. The whole is the sum of the steps that are known, and tells
// of how much time that is: a restart, an outage or a lost meter costs its own step only. Random
// parts of the steps are taken to be independent, though windows side by side share an edge: the
// whole is a little surer than it says.
//
// Split by a label (tenant, key, adapter, pod) that the server's counters of tokens have: the
// step's energy by the tokens of each value, an output token counted as `output_weight` prompt
// tokens. It is an estimate, whose parts sum to the whole: what no token was made by is a part of
// its own, and so is a step whose tokens are not known.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meter/meter.h"
#include "serving/engine/engine_watch.h"

namespace perjoule {

struct LiveOptions {
  std::string split_by = {};  ///< a label; empty: no split
  double output_weight = 10;  ///< prompt tokens that an output token takes as much as
};

enum class ShareKind {
  kValue,    ///< of the label
  kIdle,     ///< of steps without a token
  kUnknown,  ///< of steps whose tokens are not known
};

/// One value of the label, or what is nobody's.
struct LiveShare {
  ShareKind kind = ShareKind::kValue;
  std::string value;  ///< empty for what has no such label
  std::optional<double> prompt_tokens;
  std::optional<double> output_tokens;
  std::optional<double> share;  ///< of the energy
  Energy energy = Energy::missing("");
};

/// What the meters saw between two looks.
struct LiveSpan {
  Energy energy = Energy::missing("");
  Seconds duration;    ///< that the energy is of
  Seconds first_slip;  ///< at most between the counters' moment and the window's beginning
  Seconds last_slip;   ///< the same of its end
  Seconds gap;         ///< at most between the last window's end and this one's beginning
  std::vector<std::string> notes = {};  ///< the meters'
};

/// Of a step or, with the times that they are of, of the whole.
struct LiveFigures {
  Seconds duration;                     ///< between the two pages; of the whole, all of it
  Energy energy = Energy::missing("");  ///< may be a bound, in a step
  Seconds energy_time;                  ///< that the energy is of: by the meters, 0 where unknown
  std::optional<double> prompt_tokens;
  std::optional<double> output_tokens;
  Seconds tokens_time;                        ///< that the output tokens are of, 0 where unknown
  Seconds known_time;                         ///< in which both are known: of energy a token
  Energy output_token = Energy::missing("");  ///< missing where none was made
  Energy total_token = Energy::missing("");
  std::optional<double> running;  ///< requests, now
  std::optional<double> waiting;
  std::vector<LiveShare> shares;   ///< the largest first
  std::vector<std::string> notes;  ///< why figures are missing
  bool is_partial = false;         ///< of a whole: something is not known of some steps
  // One sigma of a token's energy by its edges, in joules of the step.
  Joules first_slip;
  Joules last_slip;
  Joules gap;

  /// Whether the energy is a figure: neither missing nor a bound.
  bool has_energy() const { return energy.status != Status::kMissing && !energy.one_sided(); }
  /// Energy a second, with what it is uncertain by; missing where the time is not known.
  Energy per_second() const;
  /// Mean power, W; none where the energy is no figure.
  std::optional<Watts> power() const;
  /// Its uncertainty, k = 2.
  std::optional<Watts> power_expanded() const;
  /// None where no output token was made, or its energy is no figure above 0.
  std::optional<double> tokens_per_joule() const;
  /// Its uncertainty, k = 2: the token's relative one.
  std::optional<double> tokens_per_joule_expanded() const;
  /// Output tokens a second; none where they are not known.
  std::optional<double> tokens_per_second() const;
};

/// Counters of tokens by a label's values on a page: prompt and output. not_found where no sample
/// has it, naming the labels there are.
struct LabelTokens {
  std::string value;
  double prompt = 0;
  double output = 0;
};
Result<std::vector<LabelTokens>> tokens_by_label(const MetricsText& page, std::string_view label);

/// From two pages and what was drawn in between; what cannot be told is none, with a note that says
/// why. O(samples log samples).
LiveFigures live_figures(const EnginePage& before, const EnginePage& after, const LiveSpan& span,
                         const LiveOptions& options);

/// The whole of steps: the sum of those that are known.
class LiveSum {
 public:
  /// Steps come in order. O(shares).
  void add(const LiveFigures& step);
  /// Of everything added, in that much time. O(shares + notes).
  LiveFigures figures(Seconds duration) const;

 private:
  void add_token_energy(const LiveFigures& step);
  void add_shares(const LiveFigures& step);

  LiveFigures whole_;
  std::optional<Energy> token_energy_;  ///< of the steps in which both are known ...
  double token_outputs_ = 0;            ///< ... and their tokens
  std::optional<double> token_prompts_ = 0;
  double edge_variance_ = 0;
  Joules gaps_;
  std::optional<Joules> open_edge_;  ///< the last step's, which the next one may take up
  std::map<std::pair<ShareKind, std::string>, LiveShare> shares_;
};

class LiveEnergy {
 public:
  using Reader = std::function<Result<EnginePage>()>;
  /// The meter must outlive it; a sampler keeps its gauges up (meter/sampler.h).
  LiveEnergy(Meter& meter, Reader read, LiveOptions options);

  /// The first page and window: the reader's error, or not_found where the label is not there.
  Outcome begin();
  /// Since the last page. Where the reader fails, its error; the next step is then of all the time
  /// since the last page.
  Result<LiveFigures> step();
  /// Since begin() until now. What was drawn behind the last page is in it where the last step
  /// failed, as energy of a while whose tokens are not known.
  LiveFigures end();

 private:
  Result<LiveSpan> measure();

  Meter& meter_;
  Reader read_;
  LiveOptions options_;
  std::optional<Window> window_;
  std::optional<EnginePage> last_;
  Instant begun_;
  Instant window_begun_;
  Seconds slip_;            ///< of the window's beginning
  Seconds gap_;             ///< before it
  bool is_behind_ = false;  ///< the last step had no page
  LiveSum sum_;
};

}  // namespace perjoule

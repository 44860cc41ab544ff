// A rank of a pipeline, from inside its process: tells what its instructions take, and sets its GPU
// as the plan says.
//
//   PJ_TRY(auto agent, RankAgent::join(machine, clock, options));
//   for (...) {
//     PJ_CHECK(agent->begin_iteration());
//     PJ_CHECK(agent->begin("forward", 3, 0));  forward(3);  PJ_CHECK(agent->end());
//     PJ_CHECK(agent->end_iteration());
//   }
//   PJ_CHECK(agent->leave());
//
// Where the plan server ends, or the GPU takes no clock, the first call after that says why, the
// GPU is put back as found, and every later call succeeds and does nothing: the training goes on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "device/discovery.h"
#include "meter/meter.h"
#include "meter/sampler.h"
#include "pipeline/runtime/knob_thread.h"
#include "pipeline/runtime/rank_report.h"

namespace perjoule {

/// How a rank asks: over a socket, or the service in its own process.
class PlanLink {
 public:
  virtual ~PlanLink() = default;
  virtual Result<RankWelcome> join(const RankPlace& place) = 0;
  /// None where the orders are those of epoch `have`.
  virtual Result<std::optional<RankOrders>> next(std::int64_t iteration, std::int64_t have,
                                                 const std::optional<IterationReport>& report) = 0;
  virtual Outcome leave(const std::optional<IterationReport>& report) = 0;
};

/// The socket that PlanServer serves. unavailable where nobody does.
Result<std::unique_ptr<PlanLink>> connect_plan_link(const std::string& path);

struct RankOptions {
  int pipeline = 0;
  int stage = 0;
  int tensor = 0;
  std::string device = {};  ///< of select_devices; empty: the one GPU that this process may see
  /// Called before an instruction begins and before it ends, so that its time is the GPU's.
  std::function<Outcome()> sync = {};
};

class RankAgent {
 public:
  /// Finds the GPU, its counter and its clock, and joins. invalid_argument where several GPUs are
  /// visible and none was named; else what the link and the machine fail with. Machine and clock
  /// must outlive it.
  static Result<std::unique_ptr<RankAgent>> join(const Inventory& machine, const Clock& clock,
                                                 std::unique_ptr<PlanLink> link,
                                                 const RankOptions& options);
  ~RankAgent();

  /// Reports the iteration before, and takes the orders of this one.
  Outcome begin_iteration();
  /// An instruction of the stage's order begins; its knobs are set. invalid_argument for one that
  /// the order does not have, or while another one runs.
  Outcome begin(std::string_view instruction, int microbatch, int chunk);
  Outcome end();
  Outcome end_iteration();
  /// Reports the last iteration, and puts the GPU back as found.
  Outcome leave();

  std::int64_t epoch() const { return orders_.epoch; }
  RuntimePhase phase() const { return orders_.phase; }
  /// The GPU's settings are no longer ours to choose.
  bool lost() const { return lost_; }
  std::int64_t knob_turns() const { return knobs_->turns(); }

 private:
  struct Key {
    std::string instruction;
    int microbatch;
    int chunk;
    auto operator<=>(const Key&) const = default;
  };
  RankAgent(const Clock& clock, std::unique_ptr<PlanLink> link, RankOptions options);
  Outcome watch(const Inventory& machine, Device& gpu);
  Outcome obey(RankOrders orders);
  std::vector<CounterTick> new_ticks();
  Seconds now() const;
  Outcome lose(const Error& error);

  const Clock& clock_;
  std::unique_ptr<PlanLink> link_;
  RankOptions options_;
  RankPlace place_;
  std::vector<Knob*> gpu_knobs_;
  std::unique_ptr<Meter> meter_;
  Channel* channel_ = nullptr;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<KnobThread> knobs_;

  std::map<Key, std::size_t> positions_;
  std::size_t instructions_ = 0;
  RankOrders orders_;
  std::vector<KnobValues> values_;  ///< of each of the orders' settings
  std::vector<KnobValues> before_;  ///< of the orders before: a wish may still point at them
  std::int64_t iteration_ = -1;
  bool in_iteration_ = false;
  std::optional<std::size_t> running_;
  IterationReport report_;
  bool has_report_ = false;
  std::optional<CounterTick> last_sample_;
  bool lost_ = false;
  bool left_ = false;
};

}  // namespace perjoule

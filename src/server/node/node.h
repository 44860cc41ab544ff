// A machine as the daemon has it: what it is made of, what it draws each second, and what it drew.
//
//   PJ_TRY(const auto node, Node::start(std::move(machine), {.name = "n1"}, clock, procfs));
//   node->latest()->picture.total;     // of the last second
//   node->live();                      // the same as events
//
// One thread looks once a second. What it saw is written once, as one text, for all who listen;
// handlers get a shared picture that never changes. Nothing but this thread reads the meters.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "device/discovery.h"
#include "meter/calibration.h"
#include "meter/meter.h"
#include "meter/power_view.h"
#include "meter/sampler.h"
#include "server/http/event_hub.h"
#include "server/node/history.h"

namespace perjoule {

/// A second of a node. Never changed once it is made.
struct NodePicture {
  std::uint64_t sequence = 0;
  std::int64_t unix_ms = 0;
  PowerPicture power;
  Joules total_so_far;  ///< of the sources that add up, since the daemon began
};

class Node {
 public:
  struct Options {
    std::string name;          ///< how others know it
    std::string version = {};  ///< of the daemon
    Seconds every = Seconds(1);
    std::vector<Calibration> calibrations = {};
    std::string procfs = "/proc";
  };
  /// Takes the machine as it was found. unavailable where nothing of it can be measured.
  static Result<std::unique_ptr<Node>> start(Inventory machine, Options options,
                                             const Clock& clock);
  ~Node();

  const Options& options() const { return options_; }
  const Inventory& machine() const { return machine_; }
  Meter& meter() { return meter_; }
  /// Null until the first second is over.
  std::shared_ptr<const NodePicture> latest() const;
  EventHub& live() { return live_; }
  const History& history() const { return history_; }
  std::int64_t began_unix_ms() const { return began_unix_ms_; }
  std::uint64_t missed_ticks() const { return sampler_ ? sampler_->missed_ticks() : 0; }
  /// Whether its sources are a stand-in's.
  bool is_simulated() const;

  /// One look, as the thread takes it; for tests without it.
  Outcome look();

 private:
  Node(Inventory machine, Options options, const Clock& clock);
  void run(const std::stop_token& stop);

  const Options options_;
  const Clock& clock_;
  const Inventory machine_;
  const std::int64_t began_unix_ms_;
  Meter meter_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<PowerView> view_;
  EventHub live_;
  History history_;
  Joules total_so_far_;
  mutable std::mutex mutex_;  // the one below
  std::shared_ptr<const NodePicture> latest_;
  std::jthread thread_;  // last: it uses all else
};

/// {"schema":"perjoule.picture.v1","sequence","unix_ms", ...}, without processes: who runs what is
/// nobody's business who may only read.
Json picture_document(const NodePicture& picture);

}  // namespace perjoule

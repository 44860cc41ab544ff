// Turns a GPU's knobs beside the program that computes: asking for a setting takes a microsecond,
// whatever the driver takes to obey.
//
//   KnobThread knobs(std::move(journal));
//   knobs.want({{clock, "1200 MHz"}});     // before an instruction
//   PJ_CHECK(knobs.finish());              // all put back as found
//
// Only the newest wish counts: a driver slower than the instructions skips some. What cannot be set
// is put back and not tried again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/journal.h"

namespace perjoule {

/// Values of knobs, in the order to set them.
using KnobValues = std::vector<std::pair<Knob*, std::string>>;

class KnobThread {
 public:
  explicit KnobThread(KnobJournal journal);
  ~KnobThread();
  KnobThread(const KnobThread&) = delete;
  KnobThread& operator=(const KnobThread&) = delete;

  /// Asks for values; the pointer must live until the next wish, or the end.
  void want(const KnobValues* values);
  /// Waits until the last wish is fulfilled, or failed.
  void settle();
  /// Why nothing is set any more; none while all is well.
  std::optional<Error> failure() const;
  /// How often a knob was turned.
  std::int64_t turns() const;
  /// What a value came to that is not what was asked for, once each.
  std::vector<std::string> notes() const;
  /// Puts all back as found, for good.
  Outcome finish();

 private:
  void run();
  void obey(const KnobValues& values);

  KnobJournal journal_;  ///< the thread's, until it has ended
  std::vector<std::pair<Knob*, std::string>> in_force_;
  mutable std::mutex mutex_;  ///< guards all below
  std::condition_variable changed_;
  const KnobValues* wanted_ = nullptr;
  bool busy_ = false;
  bool ending_ = false;
  std::optional<Error> failure_;
  std::vector<std::string> notes_;
  std::int64_t turns_ = 0;
  std::thread thread_;
};

}  // namespace perjoule

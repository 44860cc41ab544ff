// Who turns knobs for the daemon.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "device/discovery.h"
#include "device/journal.h"

namespace perjoule {

class KnobHand {
 public:
  virtual ~KnobHand() = default;
  /// Asks for a value and answers the one in force. not_found for a knob there is not; else as
  /// KnobJournal::turn.
  virtual Result<std::string> turn(const std::string& knob, const std::string& value) = 0;
  /// As it was found before the first turn. Nothing, where it was not turned.
  virtual Outcome put_back(const std::string& knob) = 0;
  /// Whether it can still do either.
  virtual bool lives() const { return true; }
};

/// In this process, each knob journalled by itself.
class JournalHand final : public KnobHand {
 public:
  /// `machine` must outlive it.
  JournalHand(const Inventory& machine, std::string folder)
      : machine_(machine), folder_(std::move(folder)) {}

  Result<std::string> turn(const std::string& knob, const std::string& value) override;
  Outcome put_back(const std::string& knob) override;

 private:
  const Inventory& machine_;
  const std::string folder_;
  std::map<std::string, KnobJournal> journals_;  ///< by knob: what is turned
};

}  // namespace perjoule

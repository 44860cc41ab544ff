// The process that holds the knobs, so that the daemon needs no rights.
//
//   PJ_TRY(auto helper, KnobHelper::start(find_machine));   // forks: before there is any thread
//   ... become an ordinary user ...
//   helper->turn("gpu:GPU-1/power-limit", "300 W");
//
// It does three things: finds the machine, turns a knob within its range, and puts it back. They
// are lines of JSON over a pair of sockets that nobody else has. When the daemon's end closes,
// however the daemon ended, the helper puts everything back and ends; where both are killed, the
// journal does at the next start.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/json.h"
#include "net/line_socket.h"
#include "server/knobs/knob_hand.h"

namespace perjoule {

class KnobHelper final : public KnobHand {
 public:
  using FindMachine = std::function<Result<Inventory>()>;
  /// Errors of the machine that it finds.
  static Result<std::unique_ptr<KnobHelper>> start(const FindMachine& find_machine,
                                                   const std::string& journal_folder);
  /// Everything is put back when it returns, unless a driver does not answer: then the helper is
  /// killed after a while, and the journal puts back at the next start.
  ~KnobHelper() override;

  /// unavailable once the helper has ended.
  Result<std::string> turn(const std::string& knob, const std::string& value) override;
  Outcome put_back(const std::string& knob) override;
  bool lives() const override;
  pid_t process() const { return process_; }

 private:
  KnobHelper(pid_t process, LineClient line) : process_(process), line_(std::move(line)) {}
  Result<std::string> ask(const Json& question);

  const pid_t process_;
  mutable std::atomic<bool> ended_ = false;
  /// Whether it has ended; takes its status then.
  bool has_ended() const;

  mutable std::mutex mutex_;        // what follows
  std::optional<LineClient> line_;  ///< none once the helper has ended
};

/// What the helper does: answers the lines that come until there are no more. For it, and for
/// tests.
void serve_knobs(KnobHand& hand, int socket);

}  // namespace perjoule

// A power-limit tuner for a program that calls us after every step: a window over its GPUs, the
// journal of their knobs, and the tuner between them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/session.h"
#include "train/power_limit_tuner.h"

namespace perjoule {

class StepTuner {
 public:
  /// Begins to watch those of the session's GPUs that this process may see (CUDA_VISIBLE_DEVICES
  /// and its like); the session must outlive it. not_found when there is none whose power limit can
  /// be set; else the plan's own errors.
  static Result<std::unique_ptr<StepTuner>> begin(Session& session, PowerLimitPlan plan);
  StepTuner(const StepTuner&) = delete;
  StepTuner& operator=(const StepTuner&) = delete;

  /// So many steps more are done. Reads the GPUs only when something may change.
  Outcome step(double steps);
  /// What follows until the next step is no training (validation, a checkpoint).
  Outcome epoch_ended();
  /// Puts every limit back; so does the destructor.
  Outcome end() { return journal_.restore(); }

  /// A limit was chosen, and is set.
  bool settled() const {
    return optimizer().phase() == PowerLimitOptimizer::Phase::kSettled && !tuner_->failure();
  }
  const PowerLimitOptimizer& optimizer() const { return tuner_->optimizer(); }
  /// What was measured and chosen: perjoule.train-steps.v1.
  std::string json() const;

 private:
  Outcome tell();
  StepTuner(KnobJournal journal, Window window, std::vector<std::string> notes)
      : journal_(std::move(journal)), window_(std::move(window)), notes_(std::move(notes)) {}

  KnobJournal journal_;
  std::optional<PowerLimitTuner> tuner_;
  Window window_;
  std::vector<std::string> notes_;  ///< who hides which GPUs
  double steps_ = 0;
};

}  // namespace perjoule

#include "api/step_tuner.h"

#include "base/energy_json.h"
#include "base/json.h"

namespace perjoule {
namespace {

/// The GPUs' part of a measurement, each counted once.
Energy of_gpus(const Measurement& measurement) {
  std::optional<Energy> sum;
  for (const SourceMeasurement& source : measurement.sources) {
    if (source.info.device.rfind("gpu:", 0) != 0 || !source.info.overlaps.empty()) continue;
    sum = sum ? *sum + source.energy : source.energy;
  }
  return sum.value_or(Energy::missing("gpu"));
}

}  // namespace

Result<std::unique_ptr<StepTuner>> StepTuner::begin(Session& session, PowerLimitPlan plan) {
  PJ_TRY(std::vector<Knob*> knobs, power_limit_knobs(session.machine(), {}));
  PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), session.machine()));
  PJ_TRY(Window window, session.meter().begin("steps", {}));
  std::unique_ptr<StepTuner> tuner(new StepTuner(std::move(journal), std::move(window)));
  PJ_TRY(tuner->tuner_, PowerLimitTuner::make(std::move(knobs), tuner->journal_, std::move(plan)));
  return tuner;
}

Outcome StepTuner::step(double steps) {
  if (!(steps >= 0)) return Error::invalid_argument("the number of steps is below 0");
  steps_ += steps;
  if (steps_ < optimizer().next_look()) return {};
  const Measurement so_far = window_.so_far();
  return tuner_->observe({so_far.duration, of_gpus(so_far), steps_});
}

std::string StepTuner::json() const {
  Json json = Json::object();
  json["schema"] = "perjoule.train-steps.v1";
  json["steps"] = steps_;
  json["settled"] = optimizer().phase() == PowerLimitOptimizer::Phase::kSettled;
  json["limit_w"] = optimizer().limit() ? Json(optimizer().limit()->value()) : Json();
  Json points = Json::array();
  for (const Point& point : optimizer().points()) {
    Json one = Json::object();
    one["power_limit_w"] = point.config.number("power limit").value_or(0);
    one["time_s"] = point.time.value();
    one["energy"] = to_json(point.energy);
    points.push_back(std::move(one));
  }
  json["points"] = std::move(points);
  Json notes = Json::array();
  for (const std::string& note : tuner_->notes()) notes.push_back(note);
  json["notes"] = std::move(notes);
  return json.dump();
}

}  // namespace perjoule

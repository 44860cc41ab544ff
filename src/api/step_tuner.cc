#include "api/step_tuner.h"

#include <algorithm>

#include "base/energy_json.h"
#include "base/json.h"
#include "device/selection.h"

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
  // The job's GPUs are those it may see: another job may well run on the others.
  PJ_TRY(ChosenSources gpus,
         choose_sources(session.machine(), {"gpu"}, VisibleVariables::from_environment()));
  PJ_TRY(std::vector<Knob*> knobs, power_limit_knobs(session.machine(), gpus.devices));
  PJ_TRY(KnobJournal journal, KnobJournal::open(journal_folder(), session.machine()));
  WindowOptions only_these;
  only_these.sources = gpus.ids;
  PJ_TRY(Window window, session.meter().begin("steps", only_these));
  std::unique_ptr<StepTuner> tuner(
      new StepTuner(std::move(journal), std::move(window), std::move(gpus.notes)));
  PJ_TRY(tuner->tuner_, PowerLimitTuner::make(std::move(knobs), tuner->journal_, std::move(plan)));
  return tuner;
}

Outcome StepTuner::step(double steps) {
  if (!(steps >= 0)) return Error::invalid_argument("the number of steps is below 0");
  steps_ += steps;
  return steps_ < optimizer().next_look() ? Outcome() : tell();
}

Outcome StepTuner::epoch_ended() {
  // Steps that were not told yet are training.
  PJ_CHECK(tell());
  tuner_->epoch_ended();
  return {};
}

Outcome StepTuner::tell() {
  const Measurement so_far = window_.so_far();
  StepTotals totals{so_far.duration, of_gpus(so_far), steps_};
  for (const std::string& device : tuner_->devices())
    totals.gpus.push_back(so_far.of_device(device));
  return tuner_->observe(totals);
}

std::string StepTuner::json() const {
  Json json = Json::object();
  json["schema"] = "perjoule.train-steps.v1";
  json["rule"] = text_of(optimizer().rule());
  json["max_power_w"] = tuner_->max_power().value();
  json["steps"] = steps_;
  json["settled"] = settled();
  json["stalls"] = optimizer().stalls();
  if (tuner_->failure()) json["error"] = tuner_->failure()->text();
  json["limit_w"] = optimizer().limit() ? Json(optimizer().limit()->value()) : Json();
  Json limits = Json::array();
  for (const Watts limit : optimizer().limits()) limits.push_back(limit.value());
  json["limits_w"] = std::move(limits);
  Json points = Json::array();
  for (std::size_t i = 0; i < optimizer().points().size(); ++i) {
    const Point& point = optimizer().points()[i];
    const GpuLimits& under = optimizer().limits_of_points()[i];
    Json one = Json::object();
    one["power_limit_w"] = std::max_element(under.begin(), under.end())->value();
    Json each = Json::array();
    for (const Watts limit : under) each.push_back(limit.value());
    one["power_limits_w"] = std::move(each);
    one["time_s"] = point.time.value();
    if (point.time_random.value() > 0) one["time_expanded_s"] = 2 * point.time_random.value();
    one["energy"] = to_json(point.energy);
    points.push_back(std::move(one));
  }
  json["points"] = std::move(points);
  Json notes = Json::array();
  for (const std::string& note : notes_) notes.push_back(note);
  for (const std::string& note : tuner_->notes()) notes.push_back(note);
  json["notes"] = std::move(notes);
  return json.dump();
}

}  // namespace perjoule

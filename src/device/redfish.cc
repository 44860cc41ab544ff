#include "device/redfish.h"

#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/signals_kept.h"
#include "device/plain_device.h"

namespace perjoule {

struct RedfishSource::State {
  SourceInfo info;
  RedfishFetch fetch;
  const Clock& clock;
  std::mutex mutex;  ///< guards what is below
  Reading last;
  Instant at;
};

RedfishSource::RedfishSource(SourceInfo info, RedfishFetch fetch, const Clock& clock)
    : state_(new State{std::move(info), std::move(fetch), clock, {}, {}, {}}) {}

const SourceInfo& RedfishSource::info() const noexcept { return state_->info; }

Reading RedfishSource::read() noexcept {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->last.code == ErrorCode::kOk &&
      state_->clock.now() - state_->at > 3.0 * state_->info.tick) {
    return {ErrorCode::kUnavailable, 0};
  }
  return state_->last;
}

Outcome RedfishSource::refresh() {
  const auto power = [this]() -> Result<Watts> {
    PJ_TRY(const std::string text, state_->fetch());
    PJ_TRY(const Json resource, parse_json(text));
    return parse_redfish_power(resource);
  }();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->at = state_->clock.now();
  state_->last = power ? Reading{ErrorCode::kOk, static_cast<std::uint64_t>(power->value() * 1e6)}
                       : Reading{power.error().code, 0};
  if (!power) return fail(power, "Redfish");
  return {};
}

namespace {

/// A power of a controller: absent, null or nonsense is none.
std::optional<Watts> sound(std::optional<double> watts) {
  if (!watts || !std::isfinite(*watts) || *watts < 0 || *watts > 1e6) return std::nullopt;
  return Watts(*watts);
}

class RedfishNode final : public PlainDevice {
 public:
  RedfishNode(DeviceInfo info, std::unique_ptr<RedfishSource> source)
      : PlainDevice(std::move(info)), source_(*source) {
    add(std::move(source));
    const Seconds every = source_.info().tick;
    asking_ =
        std::jthread([this, every](const std::stop_token& stop) { keep_asking(stop, every); });
  }

 private:
  void keep_asking(const std::stop_token& stop, Seconds every) {
    std::mutex mutex;
    std::condition_variable_any wake;
    const auto pause = std::chrono::duration<double>(every.value());
    while (true) {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait_for(lock, stop, pause, [] { return false; });
      if (stop.stop_requested()) return;
      (void)source_.refresh();  // its failure is what read() says next
    }
  }

  RedfishSource& source_;
  std::jthread asking_;  // last: ends before the source does
};

}  // namespace

Result<Watts> parse_redfish_power(const Json& resource) {
  if (const Json* reading = resource.find("PowerWatts")) {
    if (const auto watts = sound(reading->number("Reading"))) return *watts;
    return Error::unavailable("PowerWatts has no reading");
  }
  const Json* controls = resource.find("PowerControl");
  if (controls == nullptr || controls->as_array() == nullptr || controls->as_array()->empty()) {
    return Error::not_supported("neither PowerControl nor PowerWatts in the resource",
                                "give the address of the chassis's Power or EnvironmentMetrics");
  }
  // The first control is the whole chassis; further ones are its parts on some makes and its power
  // supplies on others, so they are never added.
  const Json& whole = controls->as_array()->front();
  if (const auto watts = sound(whole.number("PowerConsumedWatts"))) return *watts;
  if (const Json* metrics = whole.find("PowerMetrics")) {
    if (const auto watts = sound(metrics->number("AverageConsumedWatts"))) return *watts;
  }
  return Error::unavailable("PowerControl has no reading at present");
}

Result<std::unique_ptr<Device>> open_redfish(const RedfishOptions& options, RedfishFetch fetch,
                                             const Clock& clock) {
  SourceInfo info;
  info.id = "node/redfish";
  info.device = "node";
  info.backend = "redfish";
  info.scope = "node";
  info.kind = SourceKind::kPowerGauge;
  info.boundary = Boundary::kNode;
  info.status = Status::kMeasured;
  info.tick = options.every;
  info.averaging = options.every;
  info.quantum = 1;
  info.gain = 0.03;
  info.offset = Watts(2);
  info.overlaps = "cpu:0/package";  // the node contains everything else
  auto source = std::make_unique<RedfishSource>(std::move(info), std::move(fetch), clock);
  const SignalsKept kept;
  PJ_CHECK(source->refresh());
  DeviceInfo description;
  description.id = "node";
  description.kind = DeviceKind::kNode;
  description.name = "whole machine";
  description.driver = "Redfish";
  return std::unique_ptr<Device>(
      std::make_unique<RedfishNode>(std::move(description), std::move(source)));
}

Result<std::unique_ptr<Device>> open_redfish(const RedfishOptions& options, const Clock& clock) {
  return open_redfish(options, redfish_over_https(options), clock);
}

}  // namespace perjoule

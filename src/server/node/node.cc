#include "server/node/node.h"

#include <algorithm>
#include <condition_variable>

#include "base/signals_kept.h"
#include "meter/power_json.h"

namespace perjoule {

Node::Node(Inventory machine, Options options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      machine_(std::move(machine)),
      began_unix_ms_(clock.unix_ns() / 1'000'000),
      meter_(machine_.sources(), clock, 0, options_.calibrations),
      live_({}, std::to_string(began_unix_ms_)) {}

Result<std::unique_ptr<Node>> Node::start(Inventory machine, Options options, const Clock& clock) {
  if (machine.sources().empty()) {
    return Error::unavailable("nothing here can be measured", "perjoule doctor says why");
  }
  std::unique_ptr<Node> node(new Node(std::move(machine), std::move(options), clock));
  const SignalsKept kept;
  PJ_TRY(node->sampler_, Sampler::start(node->meter_, Seconds(0)));
  node->view_ = std::make_unique<PowerView>(node->machine_, node->meter_, node->options_.procfs);
  node->thread_ = std::jthread([raw = node.get()](const std::stop_token& stop) { raw->run(stop); });
  return node;
}

Node::~Node() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  live_.close();
}

bool Node::is_simulated() const {
  const std::vector<Source*> sources = machine_.sources();
  return std::any_of(sources.begin(), sources.end(), [](const Source* source) {
    return source->info().status == Status::kSimulated;
  });
}

std::shared_ptr<const NodePicture> Node::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

Outcome Node::look() {
  auto picture = std::make_shared<NodePicture>();
  PJ_TRY(picture->power, view_->refresh());
  picture->unix_ms = clock_.unix_ns() / 1'000'000;
  picture->sequence = live_.last() + 1;
  const PowerPicture& power = picture->power;
  if (power.energy.status != Status::kMissing) {
    total_so_far_ += power.energy.joules;
    history_.add("total", picture->unix_ms, power.total);
  }
  picture->total_so_far = total_so_far_;
  for (const DevicePower& device : power.devices) {
    if (device.energy.status == Status::kMissing) continue;
    history_.add(device.info.id, picture->unix_ms, device.power);
  }
  const std::string text = picture_document(*picture).dump();
  {
    const std::lock_guard lock(mutex_);
    latest_ = picture;
  }
  live_.publish("picture", text);
  return {};
}

void Node::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  Instant due = clock_.now();
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    // Even steps; those that were slept through are left out.
    due = std::max(due + options_.every, clock_.now());
    const auto wait = std::chrono::duration<double>((due - clock_.now()).value());
    never.wait_for(lock, stop, wait, [] { return false; });
    if (stop.stop_requested()) return;
    if (!look()) live_.keep_alive();
  }
}

Json picture_document(const NodePicture& picture) {
  Json json = Json::object();
  json["schema"] = "perjoule.picture.v1";
  json["sequence"] = picture.sequence;
  json["unix_ms"] = picture.unix_ms;
  json["total_so_far_j"] = picture.total_so_far.value();
  PowerPicture shown = picture.power;
  shown.processes.clear();
  add_picture(json, shown);
  return json;
}

}  // namespace perjoule

#include "device/leased_knob.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/signals_kept.h"

namespace perjoule {
namespace {

constexpr Seconds kLength{15};  // a killed process's knobs are back after so long at most
constexpr Seconds kRenewEvery{5};

/// The leases of this process, over one connection.
class Leases {
 public:
  explicit Leases(FindDaemon find_daemon) : find_daemon_(std::move(find_daemon)) {}
  ~Leases() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    for (const std::string& id : ids_) (void)daemon_->erase(path_of(id));
  }
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  struct Taken {
    std::string id;
    std::string in_force;
  };
  Result<Taken> take(const std::string& knob, const std::string& value) {
    const std::lock_guard lock(mutex_);
    if (daemon_ == nullptr) {
      PJ_TRY(daemon_, find_daemon_());
    }
    Json request = Json::object();
    request["knob"] = knob;
    request["value"] = value;
    request["seconds"] = kLength.value();
    request["purpose"] = purpose();
    PJ_TRY(const Json lease, daemon_->post("/api/v1/leases", request));
    PJ_TRY(Taken taken, read(lease));
    ids_.insert(taken.id);
    renew_from_now_on();
    return taken;
  }
  Result<Taken> change(const std::string& id, const std::string& value) {
    const std::lock_guard lock(mutex_);
    Json request = Json::object();
    request["value"] = value;
    request["seconds"] = kLength.value();
    PJ_TRY(const Json lease, daemon_->put(path_of(id), request));
    return read(lease);
  }
  Outcome give_back(const std::string& id) {
    const std::lock_guard lock(mutex_);
    ids_.erase(id);
    const auto gone = daemon_->erase(path_of(id));
    // One that is over has been put back by the daemon.
    if (gone || gone.error().code == ErrorCode::kNotFound) return {};
    return fail(gone);
  }

 private:
  static std::string path_of(const std::string& id) { return "/api/v1/leases/" + id; }
  static std::string purpose() { return "process " + std::to_string(::getpid()); }
  static Result<Taken> read(const Json& lease) {
    const auto id = lease.string("id");
    if (!id) return Error::data_loss("the daemon's answer is no lease");
    return Taken{*id, lease.string("in_force").value_or("")};
  }
  void renew_from_now_on() {
    if (thread_.joinable()) return;
    const SignalsKept kept;
    thread_ = std::jthread([this](const std::stop_token& stop) { renew(stop); });
  }
  void renew(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto every = std::chrono::duration<double>(kRenewEvery.value());
    for (;;) {
      wakes_.wait_for(lock, stop, every, [] { return false; });
      if (stop.stop_requested()) return;
      Json request = Json::object();
      request["seconds"] = kLength.value();
      // One that is lost shows when its knob is next set or read back.
      for (const std::string& id : ids_) (void)daemon_->put(path_of(id), request);
    }
  }

  const FindDaemon find_daemon_;
  std::mutex mutex_;  // what follows
  std::unique_ptr<ApiClient> daemon_;
  std::set<std::string> ids_;
  std::condition_variable_any wakes_;
  std::jthread thread_;
};

class LeasedKnob final : public Knob {
 public:
  LeasedKnob(Knob& own, std::shared_ptr<Leases> leases) : own_(own), leases_(std::move(leases)) {}

  const KnobInfo& info() const override { return own_.info(); }
  Result<std::string> get() override { return own_.get(); }
  Result<std::string> enforced() override { return own_.enforced(); }

  Outcome set(const std::string& value) override {
    if (lease_) return set_leased(value);
    const auto before = own_.get();
    Outcome direct = own_.set(value);
    if (direct || direct.error().code != ErrorCode::kPermissionDenied) return direct;
    if (before && *before == value) return {};  // it is so already: nothing needs to be lent
    auto taken = leases_->take(info().id, value);
    if (!taken && taken.error().code == ErrorCode::kNotFound) return direct;  // no daemon here
    if (!taken) return fail(taken, "through the daemon");
    lease_ = taken->id;
    found_ = before.value_or("");
    return {};
  }

 private:
  Outcome set_leased(const std::string& value) {
    if (value == found_) {
      const std::string id = *std::exchange(lease_, std::nullopt);
      return leases_->give_back(id);
    }
    auto changed = leases_->change(*lease_, value);
    if (changed) return {};
    if (changed.error().code != ErrorCode::kNotFound) return fail(changed, "through the daemon");
    // It ended meanwhile: the daemon was started anew, or this process stood still for too long.
    auto taken = leases_->take(info().id, value);
    if (!taken) return fail(taken, "through the daemon");
    lease_ = taken->id;
    return {};
  }

  Knob& own_;
  std::shared_ptr<Leases> leases_;
  std::optional<std::string> lease_;
  std::string found_;  ///< the value before the lease
};

/// The device as it is, with its knobs leased.
class LeasingDevice final : public Device {
 public:
  LeasingDevice(std::unique_ptr<Device> own, const std::shared_ptr<Leases>& leases)
      : own_(std::move(own)) {
    for (Knob* const knob : own_->knobs()) {
      knobs_.push_back(std::make_unique<LeasedKnob>(*knob, leases));
    }
  }
  const DeviceInfo& info() const override { return own_->info(); }
  std::vector<Source*> sources() override { return own_->sources(); }
  std::vector<Knob*> knobs() override {
    std::vector<Knob*> knobs;
    for (const auto& knob : knobs_) knobs.push_back(knob.get());
    return knobs;
  }
  DeviceState state() override { return own_->state(); }
  Result<std::vector<DeviceProcess>> processes() override { return own_->processes(); }

 private:
  std::unique_ptr<Device> own_;
  std::vector<std::unique_ptr<LeasedKnob>> knobs_;
};

}  // namespace

void lease_forbidden_knobs(Inventory& machine, FindDaemon find_daemon) {
  const auto leases = std::make_shared<Leases>(std::move(find_daemon));
  for (std::unique_ptr<Device>& device : machine.devices) {
    if (device->knobs().empty()) continue;
    device = std::make_unique<LeasingDevice>(std::move(device), leases);
  }
}

}  // namespace perjoule

// For tests: a clock knob whose driver is as slow, as stubborn and as limited as a test wants.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/knob.h"

namespace perjoule {

class FakeKnob final : public Knob {
 public:
  explicit FakeKnob(const std::string& device, std::string name = "clock",
                    std::string value = "1410 MHz")
      : value_(std::move(value)) {
    info_.id = device + "/" + name;
    info_.device = device;
    info_.name = std::move(name);
    info_.unit = "MHz";
    info_.minimum = 210;
    info_.maximum = 1410;
  }

  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override { return value(); }
  Result<std::string> enforced() override {
    const std::lock_guard lock(mutex_);
    return cap_.empty() ? value_ : cap_;
  }
  Outcome set(const std::string& value) override {
    std::unique_lock lock(mutex_);
    waits_ = held_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    waits_ = false;
    if (value == refused_) return Error::permission_denied("the driver takes no " + value);
    value_ = value;
    history_.push_back(value);
    changed_.notify_all();
    return {};
  }

  /// From now on set() does not return, until it is released.
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  /// Until somebody is within set(): false where nobody comes.
  bool wait_until_held() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return waits_; });
  }
  bool wait_for(const std::string& value) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return value_ == value; });
  }
  void refuse(std::string value) {
    const std::lock_guard lock(mutex_);
    refused_ = std::move(value);
  }
  /// What is in force whatever is asked for; empty: what is asked for.
  void cap(std::string value) {
    const std::lock_guard lock(mutex_);
    cap_ = std::move(value);
  }
  std::string value() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  /// All that was ever set.
  std::vector<std::string> history() const {
    const std::lock_guard lock(mutex_);
    return history_;
  }

 private:
  // Of a test that fails: one that passes waits for no time.
  static constexpr std::chrono::seconds kPatience{60};

  KnobInfo info_;
  mutable std::mutex mutex_;  ///< guards all below
  std::condition_variable changed_;
  std::string value_;
  std::string refused_;
  std::string cap_;
  std::vector<std::string> history_;
  bool held_ = false;
  bool waits_ = false;
};

}  // namespace perjoule

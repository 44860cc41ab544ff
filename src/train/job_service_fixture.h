// For tests of recurring jobs: a job service on a log in memory and on clocks that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "train/job_service.h"

namespace perjoule {

/// A log in memory.
class MemoryLog final : public EventLog {
 public:
  Outcome update(std::string_view log, const Change& change) override {
    Entries& entries = logs_[std::string(log)];
    PJ_TRY(const Entries more, change(entries));
    entries.insert(entries.end(), more.begin(), more.end());
    return {};
  }
  Result<Entries> read(std::string_view log) const override {
    const auto at = logs_.find(std::string(log));
    return at == logs_.end() ? Entries() : at->second;
  }
  Result<std::vector<std::string>> names(std::string_view beginning) const override {
    std::vector<std::string> names;
    for (const auto& [name, entries] : logs_) {
      if (name.rfind(beginning, 0) == 0 && !entries.empty()) names.push_back(name);
    }
    return names;
  }
  Outcome erase(std::string_view log) override {
    logs_.erase(std::string(log));
    return {};
  }

 private:
  std::map<std::string, Entries> logs_;
};

inline JobDefinition nightly() {
  JobDefinition job;
  job.name = "nightly";
  job.spec = {{32, 64, 128}, 64, 2, 0, {}};
  job.max_power = Watts(300);
  job.target = 0.9;
  job.most_epochs = 20;
  job.timeout = Seconds(3600);
  return job;
}

/// The monotonic clock with a wall clock that somebody sets.
class SetClock final : public Clock {
 public:
  Instant now() const noexcept override { return clock_.now(); }
  Instant since_boot() const noexcept override { return clock_.since_boot(); }
  std::int64_t unix_ns() const noexcept override { return clock_.unix_ns() + set_by_ns_; }
  void sleep_until(Instant when) const override { clock_.sleep_until(when); }
  void advance(Seconds by) { clock_.advance(by); }
  void set(Seconds by) { set_by_ns_ += static_cast<std::int64_t>(by.value() * 1e9); }

 private:
  VirtualClock clock_;
  std::int64_t set_by_ns_ = 0;
};

class JobServiceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(service_.create(nightly())); }

  /// The same job under another policy or with another window.
  std::string job_with(const std::string& policy, int window, double beta = 2) {
    JobDefinition job = nightly();
    job.name = policy + std::to_string(window);
    job.policy = policy;
    job.spec.window = window;
    job.spec.beta = beta;
    EXPECT_TRUE(service_.create(job));
    return job.name;
  }

  /// Trains until the service says so; the target is reached after so many epochs.
  Verdict train(const Trial& trial, int needed, double epoch_s,
                const std::string& job = "nightly") {
    for (int epoch = 1;; ++epoch) {
      clock_.advance(Seconds(epoch_s));
      const TrialProgress progress{epoch, Joules(200 * epoch_s * epoch), Seconds(epoch_s * epoch),
                                   epoch >= needed ? 0.95 : 0.5};
      const auto verdict = service_.report(job, trial.number, progress);
      EXPECT_TRUE(verdict) << verdict.error().text();
      if (!verdict || *verdict != Verdict::kContinue) return verdict.value_or(Verdict::kStop);
    }
  }

  MemoryLog log_;
  SetClock clock_;
  JobService service_{log_, clock_, "this boot"};
};

}  // namespace perjoule

#include "server/zeusd/process_leases.h"

namespace perjoule {
namespace {

constexpr Seconds kLookEvery{1};
constexpr Seconds kLength{60};
constexpr Seconds kRenewBelow{40};

bool is_same(const ProcessIdentity& a, const ProcessIdentity& b) {
  return a.pid == b.pid && a.start_ticks == b.start_ticks;
}

bool lives(const ProcessIdentity& process) {
  return process.fate() == ProcessIdentity::Fate::kAlive;
}

}  // namespace

ProcessLeases::ProcessLeases(LeaseBook& book, const Clock& clock, bool looks_by_itself)
    : book_(book), clock_(clock) {
  if (!looks_by_itself) return;
  thread_ = RepeatingThread(kLookEvery, [this] { look(); });
}

ProcessLeases::~ProcessLeases() {
  thread_.stop();
  for (const auto& [knob, held] : held_) {
    (void)book_.give_back(held.lease, held.holder.name, false);
  }
}

Outcome ProcessLeases::make_way(const std::string& knob, const Holder& holder) {
  const auto found = held_.find(knob);
  if (found == held_.end() || is_same(found->second.holder.process, holder.process)) return {};
  if (lives(found->second.holder.process)) {
    return Error::conflict(knob + " is held by " + found->second.holder.name,
                           "it is free when that process ends, or lets go of it by a reset");
  }
  PJ_CHECK(book_.give_back(found->second.lease, found->second.holder.name, false));
  held_.erase(found);
  return {};
}

Outcome ProcessLeases::take(const std::string& knob, const std::string& value,
                            const Holder& holder) {
  PJ_TRY(const Lease lease, book_.take({.knob = knob,
                                        .value = value,
                                        .length = kLength,
                                        .owner = holder.name,
                                        .purpose = "until its process ends"}));
  held_[knob] = {lease.id, holder};
  return {};
}

Outcome ProcessLeases::hold(const std::string& knob, const std::string& value,
                            const Holder& holder) {
  if (!lives(holder.process)) {
    return Error::permission_denied("process " + std::to_string(holder.process.pid) +
                                        " cannot be seen from here, so its end would not be either",
                                    "a client in a container shares its process numbers by --pid "
                                    "host, or the daemon runs outside of it");
  }
  const std::lock_guard lock(mutex_);
  PJ_CHECK(make_way(knob, holder));
  const auto found = held_.find(knob);
  if (found == held_.end()) return take(knob, value, holder);
  const auto renewed = book_.renew(found->second.lease, found->second.holder.name, value, kLength);
  if (renewed) return {};
  if (renewed.error().code != ErrorCode::kNotFound) return fail(renewed);
  // An administrator has given it back meanwhile.
  held_.erase(found);
  return take(knob, value, holder);
}

Outcome ProcessLeases::let_go(const std::string& knob, const Holder& holder) {
  const std::lock_guard lock(mutex_);
  PJ_CHECK(make_way(knob, holder));
  const auto found = held_.find(knob);
  if (found == held_.end()) return {};
  auto back = book_.give_back(found->second.lease, found->second.holder.name, false);
  if (!back && back.error().code != ErrorCode::kNotFound) return back;
  held_.erase(found);
  return {};
}

bool ProcessLeases::holds(const std::string& knob, const Holder& holder) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(knob);
  return found != held_.end() && is_same(found->second.holder.process, holder.process);
}

std::size_t ProcessLeases::held() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

void ProcessLeases::look() {
  const std::lock_guard lock(mutex_);
  for (auto at = held_.begin(); at != held_.end();) {
    const auto& [knob, held] = *at;
    const auto lease = book_.find(held.lease);
    bool is_over = !lease;
    if (lease && !lives(held.holder.process)) {
      // Where the driver does not take it back, the book goes on trying by itself.
      (void)book_.give_back(held.lease, held.holder.name, false);
      is_over = true;
    } else if (lease && lease->ends - clock_.now() < kRenewBelow) {
      is_over = !book_.renew(held.lease, held.holder.name, std::nullopt, kLength);
    }
    at = is_over ? held_.erase(at) : std::next(at);
  }
}

}  // namespace perjoule

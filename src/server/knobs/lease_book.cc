#include "server/knobs/lease_book.h"

#include <sys/random.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

constexpr Seconds kLookEvery{0.2};

/// Not secret: what may be done with it is for the owner's name to say.
std::string new_id() {
  std::uint64_t bits = 0;
  (void)::getrandom(&bits, sizeof bits, 0);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id = "lease-";
  for (int i = 0; i < 16; ++i, bits >>= 4U) id += kDigits[bits & 0xfU];
  return id;
}

Outcome check_length(Seconds length) {
  if (length >= LeaseBook::kShortest && length <= LeaseBook::kLongest) return {};
  return Error::invalid_argument("a lease is from 1 s to 24 h long, not " + to_text(length));
}

}  // namespace

Json to_json(const Lease& lease, Instant now) {
  Json json = Json::object();
  json["schema"] = "perjoule.lease.v1";
  json["id"] = lease.id;
  json["knob"] = lease.knob;
  json["value"] = lease.value;
  json["in_force"] = lease.in_force;
  json["owner"] = lease.owner;
  json["purpose"] = lease.purpose;
  json["ends_unix_ms"] = lease.ends_unix_ms;
  json["seconds_left"] = std::max(0.0, (lease.ends - now).value());
  json["trouble"] = lease.trouble.empty() ? Json() : Json(lease.trouble);
  return json;
}

LeaseBook::LeaseBook(KnobHand& hand, const Clock& clock, bool looks_by_itself)
    : hand_(hand), clock_(clock) {
  if (!looks_by_itself) return;
  thread_ = RepeatingThread(kLookEvery, [this] { end_overdue(); });
}

LeaseBook::~LeaseBook() {
  thread_.stop();
  (void)end_all();
}

Outcome LeaseBook::end_all() {
  const std::lock_guard lock(mutex_);
  Outcome first;
  for (auto at = leases_.begin(); at != leases_.end();) {
    const Outcome back = put_back(at->second);
    if (!back && first) first = fail(back, at->second.knob + " stays turned");
    at = back ? leases_.erase(at) : std::next(at);
  }
  show();
  return first;
}

void LeaseBook::show() {
  auto shown = std::make_shared<std::vector<Lease>>();
  for (const auto& [id, lease] : leases_) shown->push_back(lease);
  const std::lock_guard lock(shown_mutex_);
  shown_ = std::move(shown);
}

Result<Lease> LeaseBook::take(const Request& request) {
  PJ_CHECK(check_length(request.length));
  const std::lock_guard lock(mutex_);
  for (const auto& [id, other] : leases_) {
    if (other.knob != request.knob) continue;
    return Error::conflict(request.knob + " is leased to " + other.owner + " for another " +
                               to_text(other.ends - clock_.now(), 2),
                           "wait, or ask for it to be given back");
  }
  auto turned = hand_.turn(request.knob, request.value);
  Lease lease{
      .id = new_id(),
      .knob = request.knob,
      .value = request.value,
      .in_force = turned.value_or(""),
      .owner = request.owner,
      .purpose = request.purpose,
      .ends = clock_.now() + request.length,
      .ends_unix_ms = clock_.unix_ns() / 1'000'000 + std::llround(request.length.value() * 1e3),
      .trouble = {}};
  if (!turned) {
    // A knob that was turned before something failed, and does not go back, stays in the book.
    if (hand_.lives() && !put_back(lease)) leases_.emplace(lease.id, lease);
    show();
    return fail(turned);
  }
  leases_.emplace(lease.id, lease);
  show();
  return lease;
}

Result<Lease*> LeaseBook::own(const std::string& id, const std::string& owner, bool is_admin) {
  const auto found = leases_.find(id);
  if (found != leases_.end() && !found->second.trouble.empty()) {
    return Error::unavailable(
        "the lease is over, and its knob could not be put back yet: " + found->second.trouble,
        "it is tried again by itself");
  }
  if (found == leases_.end()) {
    return Error::not_found("there is no lease " + id, "it may have ended: take it anew");
  }
  if (found->second.owner != owner && !is_admin) {
    return Error::permission_denied("the lease " + id + " is of " + found->second.owner);
  }
  return &found->second;
}

Result<Lease> LeaseBook::renew(const std::string& id, const std::string& owner,
                               const std::optional<std::string>& value, Seconds length) {
  PJ_CHECK(check_length(length));
  const std::lock_guard lock(mutex_);
  PJ_TRY(Lease* const lease, own(id, owner, false));
  if (value && *value != lease->value) {
    PJ_TRY(lease->in_force, hand_.turn(lease->knob, *value));
    lease->value = *value;
  }
  lease->ends = clock_.now() + length;
  lease->ends_unix_ms = clock_.unix_ns() / 1'000'000 + std::llround(length.value() * 1e3);
  show();
  return *lease;
}

Outcome LeaseBook::give_back(const std::string& id, const std::string& owner, bool is_admin) {
  const std::lock_guard lock(mutex_);
  PJ_TRY(Lease* const lease, own(id, owner, is_admin));
  Outcome back = put_back(*lease);
  if (back) leases_.erase(id);
  show();
  return back;
}

Outcome LeaseBook::put_back(Lease& lease) {
  Outcome done = hand_.put_back(lease.knob);
  lease.trouble = done ? "" : done.error().text();
  return done;
}

Result<Lease> LeaseBook::find(const std::string& id) const {
  for (Lease& lease : all()) {
    if (lease.id == id) return std::move(lease);
  }
  return Error::not_found("there is no lease " + id);
}

std::vector<Lease> LeaseBook::all() const {
  const std::lock_guard lock(shown_mutex_);
  return *shown_;
}

void LeaseBook::end_overdue() {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_.now();
  for (auto at = leases_.begin(); at != leases_.end();) {
    Lease& lease = at->second;
    const bool is_due = lease.ends <= now || !lease.trouble.empty();
    at = is_due && put_back(lease) ? leases_.erase(at) : std::next(at);
  }
  show();
}

}  // namespace perjoule

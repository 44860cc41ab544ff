#include "meter/counter.h"

#include <algorithm>

namespace perjoule {
namespace {
/// Of a counter without a tick: two reads so close together may well see the same value.
constexpr std::int64_t kLeastStandstillNs = 1'000'000;
}  // namespace

CounterTrack::CounterTrack(const SourceInfo& info)
    : modulus_(info.modulus_micro),
      max_micro_per_ns_(info.max_power.value() * 1e-3),  // W = uJ/us = 1e-3 uJ/ns
      slack_micro_((info.max_power * info.tick).value() * 1e6 + 2e6 * info.quantum),
      standstill_ns_(
          std::max(kLeastStandstillNs,
                   static_cast<std::int64_t>(kStandstillTicks * info.tick.value() * 1e9))) {}

std::optional<std::uint64_t> CounterTrack::step(const Sample& from, const Sample& to,
                                                bool& wrapped) const noexcept {
  wrapped = to.raw < from.raw;
  // A wrap is not given the time that the counter stood still: that would let a reset pass for one.
  const std::int64_t since = wrapped ? from.at.ns : from.moved.ns;
  const double elapsed = static_cast<double>(std::max<std::int64_t>(0, to.at.ns - since));
  const double most = elapsed * max_micro_per_ns_ + slack_micro_;
  if (wrapped && (modulus_ == 0 || from.raw > modulus_)) return std::nullopt;
  const std::uint64_t delta = wrapped ? modulus_ - from.raw + to.raw : to.raw - from.raw;
  if (static_cast<double>(delta) > most) return std::nullopt;
  return delta;
}

void CounterTrack::accept(const Sample& sample, std::uint64_t delta) noexcept {
  if (modulus_ != 0 && last_) {
    const double elapsed = static_cast<double>(sample.at.ns - last_->at.ns);
    if (elapsed * max_micro_per_ns_ > static_cast<double>(modulus_)) ++faults_.blind;
  }
  if (!last_ || delta > 0) {
    last_change_ = sample.at;
    alive_.reset();
    if (last_) alive_ = last_->at;
  }
  total_ += delta;
  last_ = sample;
  last_->moved = last_change_;
  suspect_.reset();
}

void CounterTrack::update(std::uint64_t raw, Instant at) noexcept {
  const Sample sample{raw, at, at};
  if (!last_) {
    accept(sample, 0);
    return;
  }
  bool wrapped = false;
  if (const auto delta = step(*last_, sample, wrapped)) {
    if (suspect_) ++faults_.glitches;  // back on the old course: the suspect was never real
    if (wrapped) ++faults_.wraps;
    note_thaw(*delta);
    accept(sample, *delta);
    return;
  }
  if (suspect_) {
    if (const auto delta = step(*suspect_, sample, wrapped)) {
      // It goes on from the new value. Above the old one it leapt, by nobody knows how much of
      // energy; below it was reset, and what it holds since then is a lower bound, if a restart
      // from zero could have gathered it.
      const bool leapt = suspect_->raw > last_->raw;
      ++(leapt ? faults_.leaps : faults_.resets);
      bool ignored = false;
      const auto since_reset =
          leapt ? std::nullopt : step(Sample{0, last_->at, last_->at}, *suspect_, ignored);
      accept(sample, *delta + since_reset.value_or(0));
      return;
    }
    ++faults_.glitches;  // two impossible values in a row that do not follow each other
  }
  suspect_ = sample;
}

void CounterTrack::note_thaw(std::uint64_t delta) noexcept {
  // Seen to stand still, not merely unread.
  if (delta == 0 || last_->at.ns - last_->moved.ns <= standstill_ns_) return;
  thaws_[faults_.thaws++ % kThawsKept] = {last_->moved, alive_, delta};
}

std::optional<CounterTrack::Thaw> CounterTrack::thaw_from(Instant from) const noexcept {
  const std::size_t kept = std::min<std::size_t>(faults_.thaws, kThawsKept);
  for (std::size_t i = 0; i < kept; ++i) {
    if (thaws_[i].from == from) return thaws_[i];
  }
  return std::nullopt;
}

void CounterTrack::rebase() noexcept {
  last_.reset();
  suspect_.reset();
}

}  // namespace perjoule

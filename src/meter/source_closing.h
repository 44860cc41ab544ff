// One source's part of a window that is being closed: the two states of its channel turned into an
// energy, its uncertainty and the notes a reader needs.
//
// What the counter did meanwhile decides what kind of figure it is. Where it stood still at the end
// or throughout, or its device was lost, part of what was drawn is in no figure: a lower bound, or
// nothing known. Where it stood still when the window began and moved later, what it then showed at
// once is partly of the time before: an upper bound.
#pragma once

#include <optional>
#include <string>

#include "meter/channel.h"
#include "meter/measurement.h"
#include "meter/uncertainty.h"

namespace perjoule {

class SourceClosing {
 public:
  /// All three must outlive it.
  SourceClosing(const Channel& channel, const Snapshot& begin, const Snapshot& end,
                Seconds duration);

  /// The source was read so long before the window's beginning and after its end, where these are
  /// not aligned.
  void slipped(Seconds early, Seconds late);
  /// These ends lie at ticks.
  void aligned(std::optional<AlignedEdge> begin, std::optional<AlignedEdge> end);
  /// Once.
  SourceMeasurement close();

 private:
  void add_sample_statistics();
  /// The greatest power that anything tells of; `unseen` of the window is not in its difference.
  Watts typical_power(Seconds unseen) const;
  /// Writes the notes; answers the time about which nothing is known.
  Seconds note_faults(EnergyEstimate& estimate);
  /// Time at the end during which the counter should have moved and did not.
  Seconds frozen_time();
  /// What a counter that stood still when the window began showed at once when it moved.
  void note_thaw(EnergyEstimate& estimate);
  /// What was drawn while that lasted is in no figure.
  void note_bound(const std::string& what);
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  const Channel& channel_;
  const Snapshot& begin_;
  const Snapshot& end_;
  Seconds duration_;
  WindowFacts facts_;
  SourceMeasurement out_;
  bool missing_ = false;
  bool lower_bound_ = false;
  bool upper_bound_ = false;
};

}  // namespace perjoule

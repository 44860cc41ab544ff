// What each instruction of each pipeline stage takes under each setting of its knobs: the measured
// input of everything in this folder.
//
//   stage,instruction,frequency,time,energy
//   0,forward,1410,0.0502,23.8
//
// A knob is opaque: every column that is not one of stage, chunk, instruction, time, energy or a
// rank's number is one, and an option's setting is the tuple of them. Rows of one stage,
// instruction and setting are repeats: their mean counts, their spread is kept, together with what
// a column time_spread says of each row (the standard deviation of one execution, s). How well the
// mean of the energy is known they say as well, or a column energy_spread (a row's standard error,
// J), the larger of the two: the scatter of rows holds their errors. Energy is
// that of all GPUs of one pipeline's stage; what stands for several is scaled where it is read.
// Where a column tells the GPUs of a stage apart (tp_rank; rank, where there is no dp_rank) only
// settings that all of them were measured at are options: no sum of fewer is the stage's energy.
// Replicas (dp_rank) are repeats.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// Beyond these a figure is no measurement but a slip or another unit: 30 years, and a megawatt for
/// as long. Sums over all instructions of an iteration, and of squares, stay finite below them.
inline constexpr Seconds kMostTime{1e9};
inline constexpr Joules kMostEnergy{1e15};
inline constexpr Watts kMostPower{1e9};

/// One way to run an instruction.
struct KnobOption {
  Config knob;
  Seconds time;
  Joules energy;
  Seconds time_spread;  ///< standard deviation of one; 0 where it is not known
  Joules energy_spread;
  int repeats = 1;
  /// Standard error of `energy`, which is a mean; none where the profile does not say it.
  std::optional<Joules> energy_error = {};
};

struct ProfiledInstruction {
  int stage = 0;
  int chunk = 0;  ///< of an interleaved stage; 0 where a stage has one
  std::string name;
  std::vector<KnobOption> options;  ///< in the order of the file, never empty
};

class PipelineProfile {
 public:
  /// Refuses with file and line: a missing column, a stage that is no whole number from 0 up,
  /// stages with gaps, an empty instruction, a time that is not above zero or an energy below zero,
  /// a time, an energy or a spread of them that is no measurement (kMostTime, kMostEnergy), and
  /// an instruction that no setting was measured for on all GPUs of its stage.
  static Result<PipelineProfile> parse(std::string_view text, std::string_view name);
  static Result<PipelineProfile> read(const std::string& path);
  /// Of measurements made here; the same rules.
  static Result<PipelineProfile> make(std::vector<ProfiledInstruction> instructions,
                                      std::string_view name);

  int stages() const { return stages_; }
  /// Of a stage: as many as its rows tell apart, 1 where they tell none.
  int gpus(int stage) const { return gpus_[static_cast<std::size_t>(stage)]; }
  const std::vector<ProfiledInstruction>& instructions() const { return instructions_; }
  /// The instruction of that name, in any case, of a stage and chunk; where no chunk of the stage
  /// has been told apart, that of the stage. not_found names what there is.
  Result<const ProfiledInstruction*> find(int stage, int chunk, std::string_view name) const;
  const std::string& name() const { return name_; }

  /// Settings of instructions that are no options: some GPU of the stage was not measured there.
  struct LeftOut {
    std::size_t options = 0;
    std::string example;  ///< "forward of stage 0 at frequency 1410 (tp_rank 1 has no row)"
    /// For the reader, `name` being the profile's; empty where there are none.
    std::string text(std::string_view name) const;
  };
  const LeftOut& left_out() const { return left_out_; }

  /// Times and energies multiplied: published profiles are often those of a part of a stage.
  void scale(double time, double energy);
  /// Times and energies of each instruction multiplied by what is answered for it.
  void scale_each(const std::function<double(const ProfiledInstruction&)>& factor);

 private:
  std::string name_;
  int stages_ = 0;
  std::vector<int> gpus_;  ///< by stage
  std::vector<ProfiledInstruction> instructions_;
  LeftOut left_out_;
};

/// What a GPU draws while it waits for a neighbour: one value, or one for each setting of the knobs
/// that it is left at.
struct BlockingPower {
  Watts constant;
  struct AtKnob {
    Config knob;
    Watts power;
  };
  std::vector<AtKnob> by_knob;  ///< empty: the constant holds everywhere

  Watts at(const Config& knob) const;
  /// Multiplied: what a GPU draws, of all GPUs of a stage.
  void scale(double factor);
  /// The least of them: what a bound has to reckon with.
  Watts least() const;
};

/// A table with the knob columns of the profile and `power`.
Result<BlockingPower> read_blocking_power(const std::string& path);

}  // namespace perjoule

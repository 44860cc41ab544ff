// Units of work: steps, tokens, images or FLOP that a program reports while it runs, so that joules
// become joules per unit.
//
// Two ways in. A program that knows of us writes to the descriptor named by PERJOULE_UNIT_FD: a
// line a report, holding how many units were done since the last ("\n" alone is one, "2.5e9\n" so
// many FLOP). For any other program a regular expression is matched against its output: each match
// is one unit, or, with a capture group, the group's number is the count reached so far.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/energy.h"
#include "base/result.h"

namespace perjoule {

/// The moment at which a count was reached.
struct UnitMark {
  Instant at;
  double count = 0;  ///< units done since the start
};

class UnitCounter {
 public:
  /// Counts reports only.
  UnitCounter();
  /// Counts matches as well. invalid_argument when the expression (ECMAScript) does not compile.
  static Result<UnitCounter> matching(const std::string& expression);
  UnitCounter(UnitCounter&&) noexcept;
  UnitCounter& operator=(UnitCounter&&) noexcept;
  ~UnitCounter();

  /// Bytes from the unit descriptor. A line that is no number is ignored and counted in
  /// bad_lines().
  void take_report(std::string_view bytes, Instant at);
  /// Bytes of the program's output.
  void take_output(std::string_view bytes, Instant at);
  /// Takes what has come of a last line that no newline ended.
  void finish(Instant at);
  /// What a reader must know of counts that a pattern's group told: one that begins above 1 or at
  /// 0, or falls.
  std::vector<std::string> notes() const;

  double count() const { return count_; }
  /// Reports and matches so far.
  std::size_t reports() const { return reports_; }
  /// Those of them that had no number and counted as one.
  std::size_t bare_reports() const { return bare_reports_; }
  /// Whether what was counted are the reports themselves: none of them said more than one.
  bool counts_only_reports() const { return count_ > 0 && count_ <= static_cast<double>(reports_); }
  std::size_t bad_lines() const { return bad_lines_; }
  /// One mark a report, thinned beyond 65,536 by dropping every other.
  const std::vector<UnitMark>& marks() const { return marks_; }

 private:
  struct Pattern;
  void add(double units, Instant at);
  void take_report_line(const std::string& line, Instant at);
  void take_output_line(const std::string& line, Instant at);

  std::unique_ptr<Pattern> pattern_;
  std::string report_line_;
  std::string output_line_;
  double count_ = 0;
  std::size_t bad_lines_ = 0;
  std::size_t mark_every_ = 1;
  std::size_t reports_ = 0;
  std::size_t bare_reports_ = 0;
  std::vector<UnitMark> marks_;
  std::optional<double> first_told_;  ///< by a pattern's group
  double last_told_ = 0;
  std::size_t falls_ = 0;
};

/// Whether a unit of that name is an arithmetic operation ("flop", "FLOP", "flops"): of those a
/// step is billions, so that a report must say how many.
bool is_flop(std::string_view unit);

/// What the whole of a job will take, after some of its units are done.
struct Prediction {
  Seconds time;
  Joules energy;
  Seconds time_half_width;   ///< k=2
  Joules energy_half_width;  ///< k=2, measurement uncertainty and unit-to-unit spread
};

/// What a finished unit took; the mean of those that were reported together.
struct UnitCost {
  Seconds time;
  Joules energy;
  double units = 1;  ///< in the report
};

/// Extrapolates to `total` units: mean of those done; the spread between units where there are at
/// least three, else 15 % a unit; the relative uncertainty of the measurement on top. The first
/// unit, which often carries start-up, is left out of the mean as soon as three are done.
Prediction predict_total(const std::vector<UnitCost>& done, double total,
                         double relative_uncertainty);

/// The predicted energy with the status, the bounds and the source that the energy so far has: its
/// interval stretched to the whole and widened by the spread between units.
Energy predicted_energy(const Prediction& whole, const Energy& so_far);

}  // namespace perjoule

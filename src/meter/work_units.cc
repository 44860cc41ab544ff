#include "meter/work_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "base/text.h"

namespace perjoule {

struct UnitCounter::Pattern {
  std::regex expression;
};

namespace {
constexpr std::size_t kMostMarks = 65'536;
/// Longer lines are matched in pieces of this length, so that a program printing no newline costs
/// no memory.
constexpr std::size_t kLongestLine = 8'192;

/// Calls `take` with each whole line of `carry` + `bytes`; keeps the rest in `carry`.
template <typename Take>
void for_each_line(std::string& carry, std::string_view bytes, const Take& take) {
  for (const char c : bytes) {
    // Progress bars rewrite their line with carriage returns.
    if (c == '\n' || c == '\r' || carry.size() >= kLongestLine) {
      take(carry);
      carry.clear();
      if (c == '\n' || c == '\r') continue;
    }
    carry += c;
  }
}
}  // namespace

UnitCounter::UnitCounter() = default;
UnitCounter::UnitCounter(UnitCounter&&) noexcept = default;
UnitCounter& UnitCounter::operator=(UnitCounter&&) noexcept = default;
UnitCounter::~UnitCounter() = default;

Result<UnitCounter> UnitCounter::matching(const std::string& expression) {
  UnitCounter counter;
  try {
    counter.pattern_ = std::make_unique<Pattern>(
        Pattern{std::regex(expression, std::regex::ECMAScript | std::regex::optimize)});
  } catch (const std::regex_error& error) {
    return Error::invalid_argument("not a regular expression: '" + expression +
                                   "': " + error.what());
  }
  return counter;
}

void UnitCounter::add(double units, Instant at) {
  count_ += units;
  if (reports_++ % mark_every_ != 0) return;
  if (marks_.size() >= kMostMarks) {
    for (std::size_t i = 0; i < marks_.size() / 2; ++i) marks_[i] = marks_[2 * i + 1];
    marks_.resize(marks_.size() / 2);
    mark_every_ *= 2;
  }
  marks_.push_back({at, count_});
}

void UnitCounter::take_report_line(const std::string& line, Instant at) {
  const std::string_view text = trim(line);
  const auto units = text.empty() ? std::optional<double>(1) : parse_number(text);
  if (units && *units >= 0) {
    bare_reports_ += text.empty() ? 1 : 0;
    add(*units, at);
  } else {
    ++bad_lines_;
  }
}

void UnitCounter::take_report(std::string_view bytes, Instant at) {
  for_each_line(report_line_, bytes, [&](const std::string& line) { take_report_line(line, at); });
}

void UnitCounter::take_output_line(const std::string& line, Instant at) {
  std::smatch match;
  if (!std::regex_search(line, match, pattern_->expression)) return;
  if (match.size() < 2 || !match[1].matched) {
    ++bare_reports_;
    add(1, at);
    return;
  }
  const auto reached = parse_number(match[1].str());
  if (!reached) {
    ++bad_lines_;
    return;
  }
  if (!first_told_) first_told_ = *reached;
  falls_ += *reached < last_told_ ? 1 : 0;
  last_told_ = *reached;
  if (*reached > count_) add(*reached - count_, at);
}

void UnitCounter::take_output(std::string_view bytes, Instant at) {
  if (!pattern_) return;
  for_each_line(output_line_, bytes, [&](const std::string& line) { take_output_line(line, at); });
}

void UnitCounter::finish(Instant at) {
  if (!report_line_.empty()) take_report_line(report_line_, at);
  if (pattern_ && !output_line_.empty()) take_output_line(output_line_, at);
  report_line_.clear();
  output_line_.clear();
}

std::vector<std::string> UnitCounter::notes() const {
  std::vector<std::string> notes;
  // "step 100" may well be the first of a program that prints every hundredth.
  if (first_told_ && *first_told_ > 1) {
    notes.push_back(fmt::format(
        "the first count that matched was {:g}: that many units were taken as done since the "
        "start, too many where the program resumed earlier work",
        *first_told_));
  }
  if (first_told_ && *first_told_ == 0) {
    notes.emplace_back(
        "the first count that matched was 0: where the program counts from 0, one unit more was "
        "done than is counted");
  }
  if (falls_ > 0) {
    notes.push_back(
        fmt::format("{} that matched lay below the one before: what follows such a "
                    "count is left out until it is passed",
                    counted(static_cast<double>(falls_), "count")));
  }
  return notes;
}

bool is_flop(std::string_view unit) {
  return equals_ignoring_case(unit, "flop") || equals_ignoring_case(unit, "flops");
}

namespace {
struct Mean {
  double value = 0;
  double relative_sigma = 0;  ///< of one unit
};

Mean mean_of(const std::vector<UnitCost>& done, std::size_t from,
             double (*value)(const UnitCost&)) {
  const double n = static_cast<double>(done.size() - from);
  double sum = 0;
  for (std::size_t i = from; i < done.size(); ++i) sum += value(done[i]);
  Mean mean{sum / n, 0.15};
  if (n < 3 || mean.value <= 0) return mean;
  double square = 0;
  for (std::size_t i = from; i < done.size(); ++i)
    square += std::pow(value(done[i]) - mean.value, 2);
  mean.relative_sigma = std::sqrt(square / (n - 1)) / mean.value;
  return mean;
}
}  // namespace

Prediction predict_total(const std::vector<UnitCost>& done, double total,
                         double relative_uncertainty) {
  Prediction out;
  if (done.empty()) return out;
  const std::size_t from = done.size() >= 4 ? 1 : 0;
  const Mean time = mean_of(done, from, [](const UnitCost& unit) { return unit.time.value(); });
  const Mean energy = mean_of(done, from, [](const UnitCost& unit) { return unit.energy.value(); });
  const double n = static_cast<double>(done.size() - from);
  const double finished = static_cast<double>(done.size());
  const double left = std::max(0.0, total - finished);
  for (const UnitCost& unit : done) {
    out.time += unit.time;
    out.energy += unit.energy;
  }
  out.time += Seconds(left * time.value);
  out.energy += Joules(left * energy.value);
  // The mean itself is uncertain by sigma/sqrt(n), and it is multiplied by what is left; the units
  // to come scatter by sigma sqrt(left).
  const auto half_width = [&](const Mean& mean) {
    const double sigma = mean.value * mean.relative_sigma;
    return 2 * std::hypot(left * sigma / std::sqrt(n), sigma * std::sqrt(left));
  };
  out.time_half_width = Seconds(half_width(time));
  out.energy_half_width =
      Joules(std::hypot(half_width(energy), relative_uncertainty * out.energy.value()));
  return out;
}

Energy predicted_energy(const Prediction& whole, const Energy& so_far) {
  if (so_far.status == Status::kMissing || so_far.joules.value() <= 0) {
    return Energy::missing(so_far.source, so_far.boundary);
  }
  Energy out = so_far * (whole.energy / so_far.joules);
  const double measured = out.expanded_uncertainty().value();
  const double all = whole.energy_half_width.value();
  const Joules spread(std::sqrt(std::max(0.0, all * all - measured * measured)));
  out.random = Joules(std::hypot(out.random.value(), 0.5 * spread.value()));
  // What is used already stays used.
  out.lower = std::max(std::max(Joules(0), so_far.lower), out.lower - spread);
  out.upper += spread;
  return out;
}

}  // namespace perjoule

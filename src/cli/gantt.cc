#include "cli/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/text.h"
#include "pipeline/plan/iteration_detail.h"

namespace perjoule::cli {
namespace {

/// A letter for each instruction: the usual one, else the first of its name that is free.
std::vector<char> letters_of(const std::vector<std::string>& instructions) {
  constexpr std::array<std::pair<std::string_view, char>, 6> kUsual = {{{"forward", 'F'},
                                                                        {"backward", 'B'},
                                                                        {"weight", 'W'},
                                                                        {"recomputation", 'R'},
                                                                        {"backward-input", 'I'},
                                                                        {"forwardbackward", 'X'}}};
  std::vector<char> letters(instructions.size(), ' ');
  std::string free = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const auto take = [&](std::size_t i, char letter) {
    const std::size_t at = free.find(letter);
    if (at == std::string::npos) return false;
    letters[i] = letter;
    free.erase(at, 1);
    return true;
  };
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    for (const auto& [name, letter] : kUsual) {
      if (equals_ignoring_case(name, instructions[i])) take(i, letter);
    }
  }
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (letters[i] != ' ') continue;
    const std::string candidates = instructions[i] + free;
    const bool found = std::any_of(candidates.begin(), candidates.end(), [&](char c) {
      return take(i, static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
    });
    if (!found) letters[i] = '?';
  }
  return letters;
}

/// Names of knobs that have more than one value; what a profile leaves empty is none.
std::vector<std::string> varying_knobs(const std::vector<Config>& knobs) {
  std::vector<std::pair<std::string, std::string>> first;  ///< name and value, few
  std::vector<std::string> varying;
  for (const Config& knob : knobs) {
    for (const Setting setting : knob.settings()) {
      if (setting.value.empty()) continue;
      const auto at = std::find_if(first.begin(), first.end(),
                                   [&](const auto& one) { return one.first == setting.name; });
      if (at == first.end()) {
        first.emplace_back(setting.name, setting.value);
      } else if (at->second != setting.value &&
                 std::find(varying.begin(), varying.end(), setting.name) == varying.end()) {
        varying.emplace_back(setting.name);
      }
    }
  }
  return varying;
}

/// A character for each setting. Where one knob alone varies, its level: 0 lowest, 9 highest, #
/// where it is no number. Where several do, the number of their tuple, which the legend says: a
/// level of one of them would show settings as equal that are not.
class Levels {
 public:
  Levels(const std::vector<Config>& knobs, const std::vector<ActivityDetail>& details) {
    const std::vector<std::string> varying = varying_knobs(knobs);
    if (varying.size() > 1) {
      number_tuples(knobs, details);
      return;
    }
    if (!varying.empty()) name_ = varying.front();
    std::vector<std::optional<double>> numbers;
    for (const Config& knob : knobs) {
      std::optional<double> number;
      if (!knob.empty()) {
        if (name_.empty()) name_ = (*knob.settings().begin()).name;
        number = knob.number(name_);
      }
      if (number) {
        low_ = std::min(low_, *number);
        high_ = std::max(high_, *number);
      }
      numbers.push_back(number);
    }
    for (const auto& number : numbers) digits_ += number ? digit(*number) : '#';
  }
  char at(std::uint32_t knob) const { return digits_[knob]; }
  std::string legend() const {
    if (!tuples_.empty()) return "a setting's number where it is set";
    if (low_ > high_) return "# where a setting is set";
    return fmt::format("{} from 0 ({:g}) to 9 ({:g}), a digit where it is set", name_, low_, high_);
  }
  /// A line for each tuple that is numbered.
  const std::string& tuples() const { return tuples_; }

 private:
  static constexpr std::string_view kNumbers = "0123456789abcdefghijklmnopqrstuvwxyz";
  static constexpr char kFurther = '+';

  /// Those that the iteration runs at, in the profile's order.
  void number_tuples(const std::vector<Config>& knobs, const std::vector<ActivityDetail>& details) {
    std::vector<bool> used(knobs.size(), false);
    for (const ActivityDetail& detail : details) used[detail.knob] = true;
    digits_.assign(knobs.size(), kFurther);
    std::size_t next = 0;
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      if (!used[i]) continue;
      const std::size_t number = next++;
      if (number >= kNumbers.size()) continue;
      digits_[i] = kNumbers[number];
      tuples_ += fmt::format("{} {}\n", kNumbers[number], text_of(knobs[i]));
    }
    if (next <= kNumbers.size()) return;
    tuples_ += fmt::format("{} {} more settings\n", kFurther, next - kNumbers.size());
  }

  static std::string text_of(const Config& knob) {
    std::string text;
    for (const Setting setting : knob.settings()) {
      if (setting.value.empty()) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", setting.name, setting.value);
    }
    return text.empty() ? "no setting" : text;
  }

  char digit(double number) const {
    if (low_ == high_) return '9';
    return static_cast<char>('0' + std::lround(9 * (number - low_) / (high_ - low_)));
  }
  double low_ = INFINITY;
  double high_ = -INFINITY;
  std::string name_;
  std::string digits_;  ///< by setting
  std::string tuples_;
};

class Chart {
 public:
  Chart(const PipelineProblem& problem, std::span<const std::uint32_t> option,
        const Iteration& iteration, const GanttLook& look)
      : problem_(problem),
        look_(look),
        details_(activity_details(problem, option, iteration)),
        letters_(letters_of(problem.schedule().instructions)),
        levels_(problem.knobs(), details_) {}

  std::string text() const {
    const std::size_t stages = problem_.schedule().stages.size();
    const std::size_t margin = std::to_string(stages - 1).size();
    std::string text;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      text += fmt::format("{:>{}} |{}|\n", stage, margin, work(stage));
      text += fmt::format("{:>{}} |{}| {}\n", "", margin, settings(stage), switches(stage));
    }
    const std::string begin = to_text(look_.from);
    const std::string end = to_text(look_.until);
    const std::string indent(margin + 1, ' ');
    text += indent + "+" + std::string(look_.width, '-') + "+\n";
    const std::size_t gap = std::max<std::size_t>(
        2, look_.width + 2 - std::min(look_.width, begin.size() + end.size()));
    text += indent + begin + std::string(gap, ' ') + end + "\n";
    return text + legend();
  }

 private:
  /// The first column whose middle is not before the time, at most the width.
  std::size_t column(Ticks time) const {
    const double at = (problem_.seconds(time) - look_.from) / (look_.until - look_.from) *
                      static_cast<double>(look_.width);
    return static_cast<std::size_t>(
        std::clamp(std::ceil(at - 0.5), 0.0, static_cast<double>(look_.width)));
  }
  /// The column that what begins then is drawn from; none when it is not shown.
  std::optional<std::size_t> cell(Ticks time) const {
    const Seconds at = problem_.seconds(time);
    if (at < look_.from || at >= look_.until) return std::nullopt;
    return std::min(column(time), look_.width - 1);
  }
  /// A hundredth of its time is what rounding to measured settings leaves over.
  static bool has_slack(const ActivityDetail& detail) {
    return detail.slack * 100 > detail.end - detail.start;
  }

  std::string work(std::size_t stage) const {
    const PipelineSchedule& schedule = problem_.schedule();
    std::string line(look_.width, '.');
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const PipelineStep& step = schedule.stages[stage][i];
      const ActivityDetail& detail = details_[schedule.number(stage, i)];
      const std::size_t first = column(detail.start);
      const std::size_t room = column(detail.end) - first;
      if (room == 0) continue;
      const char letter = letters_[step.instruction];
      std::string label(1, has_slack(detail)
                               ? static_cast<char>(std::tolower(static_cast<unsigned char>(letter)))
                               : letter);
      const std::string number = std::to_string(step.microbatch);
      if (number.size() + label.size() <= room) label += number;
      label.resize(room, has_slack(detail) ? '-' : '=');
      line.replace(first, room, label);
    }
    return line;
  }

  std::string settings(std::size_t stage) const {
    const PipelineSchedule& schedule = problem_.schedule();
    std::string line(look_.width, ' ');
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const ActivityDetail& detail = details_[schedule.number(stage, i)];
      const std::size_t first = column(detail.start);
      std::fill(line.begin() + static_cast<std::ptrdiff_t>(first),
                line.begin() + static_cast<std::ptrdiff_t>(column(detail.end)), '-');
    }
    // Where the chart begins within an instruction its level stands first.
    std::vector<bool> changed(look_.width, false);
    for (std::size_t i = 0; i < schedule.stages[stage].size(); ++i) {
      const ActivityDetail& detail = details_[schedule.number(stage, i)];
      const bool runs_at_the_edge =
          problem_.seconds(detail.start) <= look_.from && problem_.seconds(detail.end) > look_.from;
      if (runs_at_the_edge) line[0] = levels_.at(detail.knob);
      if (i > 0 && !detail.switched) continue;
      const auto at = cell(detail.start);
      if (!at) continue;
      line[*at] = changed[*at] ? '*' : levels_.at(detail.knob);
      changed[*at] = true;
    }
    return line;
  }

  std::size_t switches(std::size_t stage) const {
    const PipelineSchedule& schedule = problem_.schedule();
    const auto first = details_.begin() + schedule.number(stage, 0);
    const auto size = static_cast<std::ptrdiff_t>(schedule.stages[stage].size());
    return static_cast<std::size_t>(
        std::count_if(first, first + size, [](const ActivityDetail& d) { return d.switched; }));
  }

  std::string legend() const {
    const PipelineSchedule& schedule = problem_.schedule();
    std::string kinds;
    for (std::size_t i = 0; i < schedule.instructions.size(); ++i) {
      kinds += fmt::format("{} {}, ", letters_[i], schedule.instructions[i]);
    }
    const Seconds cell_time = (look_.until - look_.from) / static_cast<double>(look_.width);
    return fmt::format(
        "{}. waits; small and -: could take longer, by more than 1 %; capital and =: could not\n"
        "below: {}, * several times; behind: switches\n"
        "a column is {}\n{}",
        kinds, levels_.legend(), to_text(cell_time), levels_.tuples());
  }

  const PipelineProblem& problem_;
  const GanttLook& look_;
  std::vector<ActivityDetail> details_;
  std::vector<char> letters_;
  Levels levels_;
};

}  // namespace

std::string gantt(const PipelineProblem& problem, std::span<const std::uint32_t> option,
                  const Iteration& iteration, const GanttLook& look) {
  return Chart(problem, option, iteration, look).text();
}

}  // namespace perjoule::cli

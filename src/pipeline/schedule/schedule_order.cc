// A user's own order: a CSV file of what each stage issues, read into a schedule like any other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/csv.h"
#include "base/text.h"
#include "pipeline/schedule/schedules.h"

namespace perjoule {
namespace {

constexpr std::int64_t kMostCount = 1'000'000;

/// A row of the file, found again by what it says: stage, chunk, instruction, microbatch.
using Key = std::tuple<std::size_t, int, std::uint32_t, int>;

Key key_of(std::size_t stage, const PipelineStep& step) {
  return {stage, step.chunk, step.instruction, step.microbatch};
}

/// What an `after` cell asks for.
struct Wait {
  Key row;
  std::string_view needs;  ///< "backward:3:1"
  std::size_t line = 0;
};

class OrderReader {
 public:
  OrderReader(const CsvTable& table, PipelineSchedule& schedule)
      : table_(table), schedule_(schedule) {}

  Outcome read() {
    PJ_TRY(const std::size_t stage_column, table_.require_column("stage"));
    PJ_TRY(const std::size_t instruction_column, table_.require_column("instruction"));
    PJ_TRY(const std::size_t microbatch_column, table_.require_column("microbatch"));
    const auto chunk_column = table_.column("chunk");
    const auto after_column = table_.column("after");
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      PJ_TRY(const int stage, count(row, stage_column));
      PipelineStep step;
      PJ_TRY(step.microbatch, count(row, microbatch_column));
      if (chunk_column && !trim(table_.cell(row, *chunk_column)).empty()) {
        PJ_TRY(step.chunk, count(row, *chunk_column));
      }
      PJ_TRY(step.instruction, instruction(row, instruction_column));
      const auto at = static_cast<std::size_t>(stage);
      if (at >= schedule_.stages.size()) schedule_.stages.resize(at + 1);
      schedule_.stages[at].push_back(step);
      const Key key = key_of(at, step);
      const auto [same, is_new] = lines_.emplace(key, table_.line(row));
      if (!is_new) {
        return Error::invalid_argument(
            fmt::format("{} line {}: the same instruction stands on line {}", table_.name(),
                        table_.line(row), same->second),
            "a stage issues each instruction of a microbatch and chunk once");
      }
      if (!after_column) continue;
      for (const std::string_view needs : split(table_.cell(row, *after_column), ';')) {
        if (!trim(needs).empty()) waits_.push_back({key, trim(needs), table_.line(row)});
      }
    }
    return check_gaps();
  }

  /// The precedences that `after` names; once the activities have their numbers.
  Outcome add_waits() const {
    if (waits_.empty()) return {};
    std::map<Key, std::uint32_t> numbers;
    for (std::size_t stage = 0; stage < schedule_.stages.size(); ++stage) {
      for (std::size_t i = 0; i < schedule_.stages[stage].size(); ++i) {
        numbers.emplace(key_of(stage, schedule_.stages[stage][i]), schedule_.number(stage, i));
      }
    }
    for (const Wait& wait : waits_) {
      const auto needed = find(wait.needs);
      if (!needed || lines_.count(*needed) == 0) {
        return Error::invalid_argument(
            fmt::format("{} line {}: after names no row: '{}'", table_.name(), wait.line,
                        wait.needs),
            "write instruction:stage:microbatch, with :chunk behind it where there are chunks, "
            "of a row of this file");
      }
      schedule_.across.push_back({numbers.at(*needed), numbers.at(wait.row)});
    }
    return {};
  }

  int microbatches() const { return microbatches_; }
  int chunks() const { return chunks_; }

 private:
  Result<int> count(std::size_t row, std::size_t column) const {
    const std::string_view cell = trim(table_.cell(row, column));
    const auto number = parse_integer(cell);
    if (number && *number >= 0 && *number < kMostCount) return static_cast<int>(*number);
    return Error::invalid_argument(
        fmt::format("{} line {}: {} is not a whole number from 0 up: '{}'", table_.name(),
                    table_.line(row), table_.columns()[column], cell),
        "stages, microbatches and chunks are counted from 0");
  }

  std::optional<std::uint32_t> known(std::string_view name) const {
    const auto& names = schedule_.instructions;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (equals_ignoring_case(names[i], name)) return static_cast<std::uint32_t>(i);
    }
    return std::nullopt;
  }

  Result<std::uint32_t> instruction(std::size_t row, std::size_t column) const {
    const std::string_view name = trim(table_.cell(row, column));
    if (name.empty()) {
      return Error::invalid_argument(
          fmt::format("{} line {}: the instruction is empty", table_.name(), table_.line(row)),
          "name it as the profile does, for example forward or backward");
    }
    // Each name costs a look through all; nobody has many.
    if (schedule_.instructions.size() >= 1000 && !known(name)) {
      return Error::invalid_argument(
          fmt::format("{} line {}: more than 1000 instructions", table_.name(), table_.line(row)),
          "an instruction is a kind of work, such as forward; microbatches have a column of their "
          "own");
    }
    if (const auto number = known(name)) return *number;
    schedule_.instructions.emplace_back(name);
    return static_cast<std::uint32_t>(schedule_.instructions.size() - 1);
  }

  std::optional<Key> find(std::string_view needs) const {
    const std::vector<std::string_view> parts = split(needs, ':');
    if (parts.size() < 3 || parts.size() > 4) return std::nullopt;
    const auto instruction = known(trim(parts[0]));
    const auto stage = parse_integer(trim(parts[1]));
    const auto microbatch = parse_integer(trim(parts[2]));
    const auto chunk = parts.size() == 4 ? parse_integer(trim(parts[3])) : std::int64_t{0};
    const auto fits = [](const std::optional<std::int64_t>& n) {
      return n && *n >= 0 && *n < kMostCount;
    };
    if (!instruction || !fits(stage) || !fits(microbatch) || !fits(chunk)) return std::nullopt;
    return Key{static_cast<std::size_t>(*stage), static_cast<int>(*chunk), *instruction,
               static_cast<int>(*microbatch)};
  }

  Outcome check_gaps() {
    std::vector<bool> microbatches;
    std::vector<bool> chunks;
    const auto mark = [](std::vector<bool>& seen, int number) {
      const auto at = static_cast<std::size_t>(number);
      if (at >= seen.size()) seen.resize(at + 1, false);
      seen[at] = true;
    };
    std::vector<bool> stages;
    for (const auto& steps : schedule_.stages) {
      stages.push_back(!steps.empty());
      for (const PipelineStep& step : steps) {
        mark(microbatches, step.microbatch);
        mark(chunks, step.chunk);
      }
    }
    const auto check = [this](const std::vector<bool>& seen, std::string_view what) -> Outcome {
      const auto gap = std::find(seen.begin(), seen.end(), false);
      if (gap == seen.end()) return {};
      return Error::invalid_argument(
          fmt::format("{} goes up to {} {}, but no row is of {} {}", table_.name(), what,
                      seen.size() - 1, what, gap - seen.begin()),
          "they are counted from 0 without gaps");
    };
    PJ_CHECK(check(stages, "stage"));
    PJ_CHECK(check(microbatches, "microbatch"));
    PJ_CHECK(check(chunks, "chunk"));
    microbatches_ = static_cast<int>(microbatches.size());
    chunks_ = static_cast<int>(chunks.size());
    return {};
  }

  const CsvTable& table_;
  PipelineSchedule& schedule_;
  std::map<Key, std::size_t> lines_;
  std::vector<Wait> waits_;
  int microbatches_ = 0;
  int chunks_ = 0;
};

Outcome check_count(std::string_view name, std::string_view what, int there, int wanted) {
  if (wanted == 0 || wanted == there) return {};
  return Error::invalid_argument(
      fmt::format("{} has {}, asked for were {}", name, counted(there, what), wanted),
      "give an order file of that shape");
}

}  // namespace

Result<PipelineSchedule> parse_order(std::string_view text, std::string_view name,
                                     const ScheduleShape& shape) {
  PJ_TRY(const CsvTable table, parse_csv(text, name));
  // With a data load before each and what ends the stages, of which there are no more than rows.
  const double rows = static_cast<double>(table.rows());
  const double added = (shape.load.empty() ? 0 : 1) + static_cast<double>(shape.stage_end.size());
  if (rows * (1 + added) > static_cast<double>(kMostInstructions)) {
    return Error::invalid_argument(
        fmt::format("{} has {} rows", name, table.rows()),
        fmt::format("schedules of up to {} instructions are made, with those that are added to an "
                    "order's own",
                    kMostInstructions));
  }
  PipelineSchedule schedule(name, shape, {});
  OrderReader reader(table, schedule);
  PJ_CHECK(reader.read());
  if (table.rows() == 0) {
    return Error::invalid_argument(fmt::format("{} has no rows", name),
                                   "an order has a row for each instruction that a stage issues");
  }
  const int stages = static_cast<int>(schedule.stages.size());
  PJ_CHECK(check_count(name, "stage", stages, shape.stages));
  PJ_CHECK(check_count(name, "microbatch", reader.microbatches(), shape.microbatches));
  // One chunk is what nobody asked for.
  PJ_CHECK(check_count(name, "chunk", reader.chunks(), shape.chunks == 1 ? 0 : shape.chunks));
  schedule.shape.stages = stages;
  schedule.shape.microbatches = reader.microbatches();
  schedule.shape.chunks = reader.chunks();
  finish_schedule(schedule, ModelLayout::kInTurn);
  PJ_CHECK(reader.add_waits());
  return schedule;
}

}  // namespace perjoule

// A profile from its table: rows are read, gathered by instruction, setting and GPU, and made
// options.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/csv.h"
#include "base/text.h"
#include "pipeline/profile/knob_columns.h"
#include "pipeline/profile/profile.h"

namespace perjoule {
namespace {

struct ConfigHash {
  std::size_t operator()(const Config& config) const { return config.hash(); }
};

/// What a row says beside its setting.
struct Row {
  int stage = 0;
  int chunk = 0;
  int gpu = 0;  ///< of the stage; 0 where the table tells none apart
  std::string_view instruction;
  double time = 0;
  double energy = 0;
  double time_spread = 0;
  double energy_error = 0;  ///< of its energy, which is a mean; 0 where it is not known
};

Result<int> whole_number(const CsvTable& table, std::size_t row, std::size_t column) {
  const auto number = parse_integer(trim(table.cell(row, column)));
  if (number && *number >= 0 && *number <= 1'000'000) return static_cast<int>(*number);
  return Error::invalid_argument(
      fmt::format("{} line {}: {} is not a whole number from 0 up: '{}'", table.name(),
                  table.line(row), table.columns()[column], table.cell(row, column)),
      "stages, chunks and ranks are counted from 0");
}

/// The columns of a profile, and its rows checked.
class RowReader {
 public:
  static Result<RowReader> make(const CsvTable& table) {
    RowReader reader(table);
    std::optional<std::size_t> stage = table.column("stage");
    if (!stage) stage = table.column("pp_rank");
    if (!stage) {
      PJ_TRY(stage, table.require_column("stage"));
    }
    reader.stage_ = *stage;
    PJ_TRY(reader.instruction_, table.require_column("instruction"));
    PJ_TRY(reader.time_, table.require_column("time"));
    PJ_TRY(reader.energy_, table.require_column("energy"));
    reader.chunk_ = table.column("chunk");
    reader.time_spread_ = table.column("time_spread");
    reader.energy_error_ = table.column("energy_spread");
    reader.gpu_ = table.column("tp_rank");
    for (const std::string_view name : {"rank", "dp_rank", "tp_rank"}) {
      if (const auto column = table.column(name)) reader.ranks_.push_back(*column);
    }
    if (!reader.gpu_ && !table.column("dp_rank")) reader.gpu_ = table.column("rank");
    return reader;
  }

  /// The column that tells GPUs of a stage apart, for messages.
  std::string_view gpu_name() const {
    return gpu_ ? std::string_view(table_.columns()[*gpu_]) : std::string_view("GPU");
  }

  Result<Row> at(std::size_t row) const {
    Row read;
    PJ_TRY(read.stage, whole_number(table_, row, stage_));
    if (chunk_) {
      PJ_TRY(read.chunk, whole_number(table_, row, *chunk_));
    }
    for (const std::size_t column : ranks_) {
      PJ_TRY(const int rank, whole_number(table_, row, column));
      if (gpu_ == column) read.gpu = rank;
    }
    read.instruction = trim(table_.cell(row, instruction_));
    if (read.instruction.empty()) {
      return Error::invalid_argument(place(row) + ": the instruction is empty",
                                     "name it, for example forward or backward");
    }
    PJ_TRY(read.time, table_.number(row, time_));
    PJ_TRY(read.energy, table_.number(row, energy_));
    if (read.time <= 0 || read.energy < 0) {
      return Error::invalid_argument(
          fmt::format("{}: time {} s, energy {} J", place(row), read.time, read.energy),
          "a measured time is above zero and an energy not below it; time is in seconds, energy in "
          "joules");
    }
    if (read.time > kMostTime.value() || read.energy > kMostEnergy.value()) {
      return Error::invalid_argument(
          fmt::format("{}: time {} s, energy {} J", place(row), read.time, read.energy),
          fmt::format("at most {:g} s and {:g} J are believed of one instruction; time is in "
                      "seconds, energy in joules",
                      kMostTime.value(), kMostEnergy.value()));
    }
    PJ_TRY(read.time_spread, spread(row, time_spread_, kMostTime.value(), "s"));
    PJ_TRY(read.energy_error, spread(row, energy_error_, kMostEnergy.value(), "J"));
    return read;
  }

 private:
  explicit RowReader(const CsvTable& table) : table_(table) {}

  std::string place(std::size_t row) const {
    return fmt::format("{} line {}", table_.name(), table_.line(row));
  }

  /// 0 where it is not known.
  Result<double> spread(std::size_t row, std::optional<std::size_t> column, double most,
                        std::string_view unit) const {
    if (!column || trim(table_.cell(row, *column)).empty()) return 0.0;
    PJ_TRY(const double value, table_.number(row, *column));
    if (value >= 0 && value <= most) return value;
    return Error::invalid_argument(
        fmt::format("{}: {} {} {}", place(row), table_.columns()[*column], value, unit),
        fmt::format("a spread is from 0 up, and at most {:g} {}", most, unit));
  }

  const CsvTable& table_;
  std::size_t stage_ = 0;
  std::size_t instruction_ = 0;
  std::size_t time_ = 0;
  std::size_t energy_ = 0;
  std::optional<std::size_t> chunk_;
  std::optional<std::size_t> time_spread_;
  std::optional<std::size_t> energy_error_;
  std::optional<std::size_t> gpu_;
  std::vector<std::size_t> ranks_;  ///< all columns of ranks, gpu_ among them
};

/// Sums of the repeats of one GPU at one setting.
struct Repeats {
  int count = 0;
  double time = 0, time_squared = 0, energy = 0, energy_squared = 0;
  double stated = 0;         ///< sum of the variances that rows state
  double stated_errors = 0;  ///< sum of the squares of the errors of energies that rows state
  bool all_state_errors = true;
  void add(const Row& row) {
    ++count;
    stated += row.time_spread * row.time_spread;
    stated_errors += row.energy_error * row.energy_error;
    all_state_errors = all_state_errors && row.energy_error > 0;
    time += row.time;
    time_squared += row.time * row.time;
    energy += row.energy;
    energy_squared += row.energy * row.energy;
  }
  static double spread(double sum, double squares, int n) {
    if (n < 2) return 0;
    return std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1)));
  }
  /// Between the rows, and within what each of them is the mean of.
  double time_spread() const {
    return std::hypot(spread(time, time_squared, count), std::sqrt(stated / count));
  }
  double energy_spread() const { return spread(energy, energy_squared, count); }
  /// Standard error of the mean energy. The scatter of rows holds what each of them is wrong by, so
  /// that the two are no sum; of few rows it may be less by chance.
  std::optional<double> energy_error() const {
    if (count < 2 && !all_state_errors) return std::nullopt;
    return std::max(energy_spread() / std::sqrt(count), std::sqrt(stated_errors) / count);
  }
};

struct OfGpu {
  int gpu;
  Repeats repeats;
};

/// GPUs of one stage run together: the slowest says the time, all of them the energy.
KnobOption together(Config knob, const std::vector<OfGpu>& by_gpu) {
  KnobOption option;
  option.knob = std::move(knob);
  option.repeats = INT32_MAX;
  double energy = 0;
  double energy_variance = 0;
  std::optional<double> error_squared = 0;  // GPUs are measured each by itself
  for (const auto& [gpu, repeats] : by_gpu) {
    const double time = repeats.time / repeats.count;
    if (time > option.time.value()) {
      option.time = Seconds(time);
      option.time_spread = Seconds(repeats.time_spread());
    }
    energy += repeats.energy / repeats.count;
    energy_variance += repeats.energy_spread() * repeats.energy_spread();
    option.repeats = std::min(option.repeats, repeats.count);
    const std::optional<double> error = repeats.energy_error();
    if (!error) error_squared.reset();
    if (error_squared) *error_squared += *error * *error;
  }
  if (error_squared) option.energy_error = Joules(std::sqrt(*error_squared));
  option.energy = Joules(energy);
  option.energy_spread = Joules(std::sqrt(energy_variance));
  return option;
}

/// What an instruction is known by: names in another case are the same, here as in find().
std::string lower_case(std::string_view name) {
  std::string lower(name);
  // As equals_ignoring_case() has it: no locale, letters of ASCII alone.
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

class Gathering {
 public:
  Gathering(std::string_view name, std::string_view gpu_name) : name_(name), gpu_name_(gpu_name) {}

  void add(const Row& row, const Config& knob) {
    const auto [at, is_new] = index_.try_emplace(
        {row.stage, row.chunk, lower_case(row.instruction)}, instructions_.size());
    if (is_new) {
      instructions_.emplace_back();
      instructions_.back().profiled = {row.stage, row.chunk, std::string(row.instruction), {}};
    }
    Instruction& here = instructions_[at->second];
    const auto [option, is_new_option] = here.by_knob.try_emplace(knob, here.options.size());
    if (is_new_option) here.options.push_back({option->first, {}});
    of(here.options[option->second].by_gpu, row.gpu).add(row);
    auto& gpus = gpus_[row.stage];
    const auto its = std::lower_bound(gpus.begin(), gpus.end(), row.gpu);
    if (its == gpus.end() || *its != row.gpu) gpus.insert(its, row.gpu);
  }

  Result<std::vector<ProfiledInstruction>> finish(PipelineProfile::LeftOut& left_out) {
    std::vector<ProfiledInstruction> finished;
    for (Instruction& one : instructions_) {
      const std::size_t gpus = gpus_of(one.profiled.stage).size();
      std::size_t left = 0;
      for (const Option& option : one.options) {
        if (option.by_gpu.size() == gpus) {
          one.profiled.options.push_back(together(option.knob, option.by_gpu));
          continue;
        }
        ++left;
        if (left_out.options++ == 0) {
          left_out.example = fmt::format("{}{} ({} {} has no row)", place(one.profiled), at(option),
                                         gpu_name_, lacking(one, option));
        }
      }
      if (one.profiled.options.empty()) return none_left(one);
      finished.push_back(std::move(one.profiled));
    }
    return finished;
  }

  const std::vector<int>& gpus_of(int stage) const { return gpus_.at(stage); }

 private:
  struct Option {
    Config knob;
    std::vector<OfGpu> by_gpu;  ///< few, sorted
  };
  struct Instruction {
    ProfiledInstruction profiled;
    std::vector<Option> options;
    std::unordered_map<Config, std::size_t, ConfigHash> by_knob;
  };

  static Repeats& of(std::vector<OfGpu>& by_gpu, int gpu) {
    auto its = std::lower_bound(by_gpu.begin(), by_gpu.end(), gpu,
                                [](const OfGpu& each, int number) { return each.gpu < number; });
    if (its == by_gpu.end() || its->gpu != gpu) its = by_gpu.insert(its, {gpu, {}});
    return its->repeats;
  }

  static std::string place(const ProfiledInstruction& one) {
    return fmt::format("{} of stage {}{}", one.name, one.stage,
                       one.chunk > 0 ? fmt::format(", chunk {}", one.chunk) : "");
  }
  /// " at frequency 1410", nothing where the profile has no knobs.
  static std::string at(const Option& option) {
    return option.knob.empty() ? "" : " at " + option.knob.text();
  }
  /// The first GPU of the stage that was not measured there; there is one.
  int lacking(const Instruction& one, const Option& option) const {
    const std::vector<int>& gpus = gpus_of(one.profiled.stage);
    for (std::size_t i = 0; i < option.by_gpu.size(); ++i) {
      if (option.by_gpu[i].gpu != gpus[i]) return gpus[i];
    }
    return gpus[option.by_gpu.size()];
  }

  tl::unexpected<Error> none_left(const Instruction& one) const {
    constexpr std::size_t kNamed = 3;
    std::string lacks;
    for (std::size_t i = 0; i < std::min(kNamed, one.options.size()); ++i) {
      lacks += fmt::format("{}{} {} has none{}", i > 0 ? ", " : "", gpu_name_,
                           lacking(one, one.options[i]), at(one.options[i]));
    }
    if (one.options.size() > kNamed) lacks += ", ...";
    return Error::invalid_argument(
        fmt::format("{}: {} was measured at no setting on all {} GPUs of the stage: {}", name_,
                    place(one.profiled), gpus_of(one.profiled.stage).size(), lacks),
        "a stage's energy is that of all its GPUs: measure each of them at the same settings");
  }

  std::string_view name_;
  std::string_view gpu_name_;
  std::vector<Instruction> instructions_;
  std::map<std::tuple<int, int, std::string>, std::size_t> index_;
  std::unordered_map<int, std::vector<int>> gpus_;  ///< by stage, sorted
};

}  // namespace

Result<PipelineProfile> PipelineProfile::parse(std::string_view text, std::string_view name) {
  PJ_TRY(const CsvTable table, parse_csv(text, name));
  PJ_TRY(const RowReader rows, RowReader::make(table));
  if (table.rows() == 0) {
    return Error::invalid_argument(fmt::format("{} has no rows", name),
                                   "a profile has a row for each stage, instruction and setting");
  }
  const KnobReader knobs(table, knob_columns(table));
  Gathering gathering(name, rows.gpu_name());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const Row read, rows.at(row));
    gathering.add(read, knobs.at(row));
  }
  LeftOut left_out;
  PJ_TRY(auto instructions, gathering.finish(left_out));
  PJ_TRY(PipelineProfile profile, make(std::move(instructions), name));
  for (int stage = 0; stage < profile.stages_; ++stage) {
    profile.gpus_[static_cast<std::size_t>(stage)] =
        static_cast<int>(gathering.gpus_of(stage).size());
  }
  profile.left_out_ = std::move(left_out);
  return profile;
}

}  // namespace perjoule

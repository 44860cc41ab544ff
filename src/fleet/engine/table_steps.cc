#include "fleet/engine/table_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/csv.h"
#include "fleet/engine/lookup_line.h"

namespace perjoule {

extern const std::string_view kFleetEnginesCsv;
extern const std::string_view kFleetStepsCsv;
extern const std::string_view kFleetClocksCsv;

namespace {

constexpr double kMixed = 1.1;

struct Phase {
  LookupLine seconds;
  LookupLine watts;
};

/// What a clock makes of a step, by its tokens.
struct Clock {
  double mhz = 0;
  LookupLine time;
  LookupLine energy;
};

class TableSteps final : public StepModel {
 public:
  TableSteps(Traits traits, Phase prefill, Phase decode, std::vector<Clock> clocks)
      : StepModel(std::move(traits)),
        prefill_(std::move(prefill)),
        decode_(std::move(decode)),
        clocks_(std::move(clocks)) {}

  StepCost cost(const StepBatch& batch, std::size_t clock) const noexcept override {
    const auto decodes = static_cast<double>(batch.decodes);
    const double tokens = decodes + static_cast<double>(batch.prefill_tokens);
    double time = 0;
    double energy = 0;
    if (batch.decodes > 0) {
      time = decode_.seconds.extended(decodes);
      energy = time * decode_.watts.held(decodes);
    }
    if (batch.prefill_tokens > 0) {
      const double alone = time;
      time = prefill_.seconds.extended(tokens);
      if (batch.decodes > 0) time = kMixed * std::max(alone, time);
      energy += (time - alone) * prefill_.watts.held(tokens);
    }
    const Clock& factors = clocks_[clock];
    return {Seconds(time * factors.time.held(tokens)),
            Joules(energy * factors.energy.held(tokens))};
  }

 private:
  Phase prefill_;
  Phase decode_;
  std::vector<Clock> clocks_;
};

/// A table's cells with errors that name the line.
class Rows {
 public:
  static Result<Rows> parse(std::string_view text, std::string_view name,
                            const std::vector<std::string_view>& columns) {
    PJ_TRY(CsvTable table, parse_csv(text, name));
    Rows rows(std::move(table));
    for (const std::string_view column : columns) {
      PJ_TRY(const std::size_t at, rows.table_.require_column(column));
      rows.columns_.push_back(at);
    }
    return rows;
  }
  std::size_t count() const { return table_.rows(); }
  std::string_view text(std::size_t row, std::size_t column) const {
    return table_.cell(row, columns_[column]);
  }
  Result<double> positive(std::size_t row, std::size_t column) const {
    PJ_TRY(const double value, table_.number(row, columns_[column]));
    if (value > 0) return value;
    return wrong(row, "not above 0: " + table_.columns()[columns_[column]]);
  }
  tl::unexpected<Error> wrong(std::size_t row, const std::string& why) const {
    return Error::data_loss(fmt::format("{}: line {}: {}", table_.name(), table_.line(row), why));
  }

 private:
  explicit Rows(CsvTable table) : table_(std::move(table)) {}
  CsvTable table_;
  std::vector<std::size_t> columns_;
};

/// "llama-70b h100 4": what steps and engines share.
std::string key_of(const Rows& rows, std::size_t row) {
  return fmt::format("{} {} {}", rows.text(row, 0), rows.text(row, 1), rows.text(row, 2));
}

using Phases = std::map<std::string, std::array<Phase, 2>>;  // prefill, decode

Result<Phases> read_phases(std::string_view text) {
  PJ_TRY(const Rows rows,
         Rows::parse(text, "steps table",
                     {"model", "gpu", "tp", "phase", "amount", "time_ms", "power_w"}));
  Phases phases;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    const std::string_view name = rows.text(row, 3);
    if (name != "prefill" && name != "decode")
      return rows.wrong(row, "neither prefill nor decode: " + std::string(name));
    PJ_TRY(const double amount, rows.positive(row, 4));
    PJ_TRY(const double ms, rows.positive(row, 5));
    PJ_TRY(const double watts, rows.positive(row, 6));
    Phase& phase = phases[key_of(rows, row)][name == "decode" ? 1 : 0];
    if (!phase.seconds.empty() && phase.seconds.last_x() >= amount)
      return rows.wrong(row, "amounts of a phase must rise");
    phase.seconds.add(amount, ms * 1e-3);
    phase.watts.add(amount, watts);
  }
  return phases;
}

/// Of each GPU, by rising clock.
using Clocks = std::map<std::string, std::map<double, Clock>, std::less<>>;

Result<Clocks> read_clocks(std::string_view text) {
  PJ_TRY(const Rows rows,
         Rows::parse(text, "clocks table",
                     {"gpu", "tokens", "clock_mhz", "time_factor", "energy_factor"}));
  Clocks clocks;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    PJ_TRY(const double tokens, rows.positive(row, 1));
    PJ_TRY(const double mhz, rows.positive(row, 2));
    PJ_TRY(const double time, rows.positive(row, 3));
    PJ_TRY(const double energy, rows.positive(row, 4));
    Clock& clock = clocks[std::string(rows.text(row, 0))][mhz];
    clock.mhz = mhz;
    if (!clock.time.empty() && clock.time.last_x() >= tokens)
      return rows.wrong(row, "tokens of a clock must rise");
    clock.time.add(tokens, time);
    clock.energy.add(tokens, energy);
  }
  return clocks;
}

}  // namespace

StepTables shipped_step_tables() {
  return {kFleetEnginesCsv, kFleetStepsCsv, kFleetClocksCsv, Status::kSimulated,
          "synthetic: ML.ENERGY v3 power and decode times (4 x H100), Splitwise prompt times and "
          "parallelism, BEAM's A100 clock factors; data/README.md"};
}

Result<std::vector<std::shared_ptr<const StepModel>>> table_steps(const StepTables& tables) {
  PJ_TRY(const Rows engines, Rows::parse(tables.engines, "engines table",
                                         {"model", "gpu", "tp", "cache_tokens", "idle_w"}));
  PJ_TRY(const Phases phases, read_phases(tables.steps));
  PJ_TRY(const Clocks clocks, read_clocks(tables.clocks));
  std::vector<std::shared_ptr<const StepModel>> models;
  for (std::size_t row = 0; row < engines.count(); ++row) {
    PJ_TRY(const double tp, engines.positive(row, 2));
    PJ_TRY(const double cache, engines.positive(row, 3));
    PJ_TRY(const double idle, engines.positive(row, 4));
    const auto steps = phases.find(key_of(engines, row));
    const auto of_gpu = clocks.find(engines.text(row, 1));
    if (steps == phases.end() || steps->second[0].seconds.empty() ||
        steps->second[1].seconds.empty()) {
      return engines.wrong(row, "no steps of prefill and decode of " + key_of(engines, row));
    }
    if (of_gpu == clocks.end())
      return engines.wrong(row, "no clocks of " + std::string(engines.text(row, 1)));
    StepModel::Traits traits;
    traits.layout = {std::string(engines.text(row, 0)), std::string(engines.text(row, 1)),
                     static_cast<int>(std::min(tp, 1e6)), 1};
    traits.cache_tokens = static_cast<std::int64_t>(std::min(cache, 1e15));
    traits.status = tables.status;
    traits.origin = tables.origin;
    std::vector<Clock> rising;
    for (const auto& [mhz, clock] : of_gpu->second) {
      traits.clocks_mhz.push_back(mhz);
      traits.idle.push_back(Watts(idle));
      rising.push_back(clock);
    }
    models.push_back(std::make_shared<const TableSteps>(std::move(traits), steps->second[0],
                                                        steps->second[1], std::move(rising)));
  }
  return models;
}

}  // namespace perjoule

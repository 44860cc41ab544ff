#include "fleet/engine/operator_steps.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/csv.h"
#include "fleet/engine/lookup_line.h"

namespace perjoule {
namespace {

constexpr double kMicrosecond = 1e-6;

/// How often each dense operator is computed: in every layer, or once.
struct Operator {
  std::string_view name;
  int in_layer = 0;
  int once = 0;
};
constexpr std::array<Operator, 9> kOperators = {{{"act_fn", 1, 0},
                                                 {"down_proj", 1, 0},
                                                 {"embedding", 0, 1},
                                                 {"final_layernorm", 0, 1},
                                                 {"gate_up_proj", 1, 0},
                                                 {"layernorm", 2, 0},
                                                 {"o_proj", 1, 0},
                                                 {"qkv_proj", 1, 0},
                                                 {"rotary_emb", 1, 0}}};

/// Times (us) by operator and amount.
using OperatorTimes = std::map<std::string, std::map<double, double>, std::less<>>;

Result<OperatorTimes> read_times(std::string_view text, std::string_view name,
                                 std::string_view amount) {
  PJ_TRY(const CsvTable table, parse_csv(text, name));
  PJ_TRY(const std::size_t layer, table.require_column("layer"));
  PJ_TRY(const std::size_t amounts, table.require_column(amount));
  PJ_TRY(const std::size_t times, table.require_column("time_us"));
  OperatorTimes by_operator;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const double x, table.number(row, amounts));
    PJ_TRY(const double us, table.number(row, times));
    by_operator[std::string(table.cell(row, layer))][x] = us;
  }
  return by_operator;
}

Result<const std::map<double, double>*> times_of(const OperatorTimes& times, std::string_view name,
                                                 std::string_view table) {
  const auto found = times.find(name);
  if (found == times.end())
    return Error::not_found(std::string(table) + ": no operator " + std::string(name));
  return &found->second;
}

/// Adds `weight` times an operator's times to those by amount.
void accumulate(const std::map<double, double>& times, double weight,
                std::map<double, double>& sums) {
  for (const auto& [amount, us] : times) sums[amount] += weight * us;
}

LookupLine line_of(const std::map<double, double>& sums, double unit) {
  LookupLine line;
  for (const auto& [amount, us] : sums) line.add(amount, us * unit);
  return line;
}

/// A table over two amounts, bilinear between them; held before its first, beyond its last on the
/// line through the last two: attention goes with both.
class Plane {
 public:
  /// Only amounts for which all combinations were measured.
  static Result<Plane> of(const std::map<std::pair<double, double>, double>& cells,
                          const std::set<double>& rows) {
    Plane plane;
    for (const double row : rows) {
      LookupLine line;
      for (auto cell = cells.lower_bound({row, -1.0});
           cell != cells.end() && cell->first.first == row; ++cell) {
        line.add(cell->first.second, cell->second * kMicrosecond);
      }
      if (line.empty()) continue;
      plane.rows_.push_back(row);
      plane.lines_.push_back(std::move(line));
    }
    if (plane.rows_.size() < 2)
      return Error::data_loss("attention table: fewer than two batch sizes");
    return plane;
  }

  double at(double row, double column) const noexcept {
    const auto above = std::lower_bound(rows_.begin() + 1, rows_.end() - 1, row);
    const auto i = static_cast<std::size_t>(above - rows_.begin());
    const double share = std::max(0.0, (row - rows_[i - 1]) / (rows_[i] - rows_[i - 1]));
    const double low = lines_[i - 1].extended(column);
    return low + (lines_[i].extended(column) - low) * share;
  }

 private:
  std::vector<double> rows_;
  std::vector<LookupLine> lines_;
};

bool is_power_of_two(double amount) {
  const auto whole = static_cast<std::uint64_t>(amount);
  return (whole & (whole - 1)) == 0;
}

struct Attention {
  Plane decode;   ///< decodes, mean context
  Plane prefill;  ///< chunk, context before it
};

Result<Attention> read_attention(std::string_view text) {
  PJ_TRY(const CsvTable table, parse_csv(text, "attention table"));
  std::array<std::size_t, 5> at = {};
  constexpr std::array<std::string_view, 5> kNames = {"prefill_chunk", "kv_prefill", "n_decode",
                                                      "kv_decode", "time_us"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    PJ_TRY(at[i], table.require_column(kNames[i]));
  }
  std::map<std::pair<double, double>, double> decode;
  std::map<std::pair<double, double>, double> prefill;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::array<double, 5> cell = {};
    for (std::size_t i = 0; i < at.size(); ++i) {
      PJ_TRY(cell[i], table.number(row, at[i]));
    }
    const auto [chunk, before, decodes, context, us] = cell;
    if (chunk == 0) decode[{decodes, context}] = us;
    // The finer grid between powers of two was measured beside decodes only, and not in full.
    if (decodes == 0 && is_power_of_two(chunk) && is_power_of_two(before))
      prefill[{chunk, before}] = us;
  }
  const auto rows = [](const std::map<std::pair<double, double>, double>& cells) {
    std::set<double> all;
    for (const auto& cell : cells) all.insert(cell.first.first);
    return all;
  };
  PJ_TRY(Plane of_decodes, Plane::of(decode, rows(decode)));
  PJ_TRY(Plane of_prefills, Plane::of(prefill, rows(prefill)));
  return Attention{std::move(of_decodes), std::move(of_prefills)};
}

class OperatorSteps final : public StepModel {
 public:
  OperatorSteps(Traits traits, LookupLine by_tokens, LookupLine by_sequences, Attention attention,
                int layers, Seconds overhead)
      : StepModel(std::move(traits)),
        by_tokens_(std::move(by_tokens)),
        by_sequences_(std::move(by_sequences)),
        attention_(std::move(attention)),
        layers_(layers),
        overhead_(overhead.value()) {}

  StepCost cost(const StepBatch& batch, std::size_t /*clock*/) const noexcept override {
    const auto decodes = static_cast<double>(batch.decodes);
    double attention = 0;
    if (batch.decodes > 0)
      attention += attention_.decode.at(decodes, static_cast<double>(batch.context) / decodes);
    for (const PrefillChunk& chunk : batch.chunks) {
      attention += attention_.prefill.at(static_cast<double>(chunk.tokens),
                                         static_cast<double>(chunk.context));
    }
    const double time = by_tokens_.extended(decodes + static_cast<double>(batch.prefill_tokens)) +
                        by_sequences_.extended(std::max(1.0, static_cast<double>(batch.sampled))) +
                        layers_ * attention + overhead_;
    return {Seconds(time), Joules(std::numeric_limits<double>::quiet_NaN())};
  }

 private:
  LookupLine by_tokens_;
  LookupLine by_sequences_;
  Attention attention_;
  int layers_;
  double overhead_;
};

}  // namespace

Result<std::unique_ptr<StepModel>> operator_steps(const OperatorTables& tables,
                                                  OperatorModel model) {
  PJ_TRY(const OperatorTimes dense, read_times(tables.dense, "dense table", "tokens"));
  PJ_TRY(const OperatorTimes heads,
         read_times(tables.per_sequence, "per-sequence table", "sequences"));
  std::map<double, double> by_tokens;
  for (const Operator& one : kOperators) {
    PJ_TRY(const auto* const times, times_of(dense, one.name, "dense table"));
    accumulate(*times, one.in_layer * model.layers + one.once, by_tokens);
  }
  std::map<double, double> by_sequences;
  for (const std::string_view name : {"lm_head", "sampler"}) {
    PJ_TRY(const auto* const times, times_of(heads, name, "per-sequence table"));
    accumulate(*times, 1, by_sequences);
  }
  PJ_TRY(Attention attention, read_attention(tables.attention));
  StepModel::Traits traits{.layout = std::move(model.layout),
                           .clocks_mhz = {0},
                           .idle = {Watts(std::numeric_limits<double>::quiet_NaN())},
                           .cache_tokens = model.cache_tokens,
                           .status = Status::kReconstructed,
                           .origin = std::move(model.origin)};
  return std::unique_ptr<StepModel>(std::make_unique<OperatorSteps>(
      std::move(traits), line_of(by_tokens, kMicrosecond), line_of(by_sequences, kMicrosecond),
      std::move(attention), model.layers, model.overhead));
}

}  // namespace perjoule

// Step tables and output predictors from anyone: what is accepted must cost finite, positive time
// and energy whatever a step computes, and a predictor must say a class and survive its own format.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "fleet/engine/operator_steps.h"
#include "fleet/engine/table_steps.h"
#include "fleet/traffic/learned_predictor.h"

namespace {

using namespace perjoule;

/// What stands before the next '\x01', taken from the text.
std::string_view take(std::string_view& text) {
  const std::size_t end = text.find('\x01');
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

void try_steps(const StepModel& model) {
  const PrefillChunk chunk{700, 300};
  for (std::size_t clock = 0; clock < model.traits().clocks_mhz.size(); ++clock) {
    for (const std::int64_t decodes : {0, 1, 77, 5000}) {
      for (const std::int64_t tokens : {0, 1, 700}) {
        if (decodes + tokens == 0) continue;
        StepBatch batch;
        batch.decodes = decodes;
        batch.context = decodes * 1000;
        batch.prefill_tokens = tokens;
        batch.sampled = decodes;
        if (tokens == 700) batch.chunks = {&chunk, 1};
        const StepCost cost = model.cost(batch, clock);
        if (std::isnan(cost.time.value())) std::abort();
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int kind = data[0] % 3;
  if (kind == 0) {
    StepTables tables;
    tables.engines = take(text);
    tables.steps = take(text);
    tables.clocks = take(text);
    if (const auto models = table_steps(tables)) {
      for (const auto& model : *models) try_steps(*model);
    }
  } else if (kind == 1) {
    OperatorTables tables;
    tables.dense = take(text);
    tables.attention = take(text);
    tables.per_sequence = take(text);
    if (const auto model = operator_steps(tables, {})) try_steps(**model);
  } else if (auto predictor = LearnedPredictor::parse(text)) {
    for (const std::int64_t prompt : {0, 1, 1000, 1'000'000'000}) {
      if (predictor->predict({Seconds(0), prompt, 0}) >= kLengthClasses) std::abort();
    }
    const auto again = LearnedPredictor::parse(predictor->text());
    if (!again || again->text() != predictor->text()) std::abort();
  }
  return 0;
}

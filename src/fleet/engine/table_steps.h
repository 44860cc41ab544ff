// Whole steps by tokens, with factors for lower clocks: tables that are put together from several
// measurements, such as the shipped ones of a 70B model on two, four and eight H100.
//
//   PJ_TRY(const auto models, table_steps(shipped_step_tables()));   // one a layout
//   models[0]->cost(batch, models[0]->highest_clock());
//
// At the highest clock a step of decodes alone takes what the table has for so many requests, one
// of prompts alone what it has for so many tokens, and one with both 1.1 times the larger of the
// two (as Splitwise's simulator has it, the prompts' with the decodes' tokens among them). Its
// power is the decodes' for as long as they alone would take, and the prompts' for the rest. A
// lower clock multiplies time and energy by factors that go with the step's tokens.
//
// All of it is on straight lines between the tables' points and held below the first; beyond the
// last, powers and factors are held and times lie on the line through the last two. Context costs
// nothing by itself in it: the decodes' times are of chats with some 500 tokens of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/engine/step_model.h"

namespace perjoule {

/// Three tables as CSV: engines (model, gpu, tp, cache_tokens, idle_w), steps (model, gpu, tp,
/// phase: prefill or decode, amount, time_ms, power_w) and clocks (gpu, tokens, clock_mhz,
/// time_factor, energy_factor; factors of the highest clock are 1).
struct StepTables {
  std::string_view engines;
  std::string_view steps;
  std::string_view clocks;
  Status status = Status::kSimulated;
  std::string origin = {};
};

/// data/fleet_*.csv.
StepTables shipped_step_tables();

/// A model for each engine, in their order. data_loss naming table and line for figures that are
/// not above 0, amounts and clocks that do not rise, an engine without both phases or without
/// clocks.
Result<std::vector<std::shared_ptr<const StepModel>>> table_steps(const StepTables& tables);

}  // namespace perjoule

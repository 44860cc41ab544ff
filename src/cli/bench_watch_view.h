// What perjoule bench watch shows of its figures: a document, a row, gauges.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "serving/engine/live_energy.h"

namespace perjoule::cli {

/// A document of "step" or "whole" (docs/formats.md); what is not known is null.
Json watch_json(const LiveFigures& figures, std::string_view span);

/// Gauges in Prometheus's text format, for node_exporter's textfile collector; what is not known
/// has no sample. `split_by` names the label of the shares.
std::string watch_gauges(const LiveFigures& figures, const std::string& split_by);

/// The table's heading, and a step as a line of it: at `since` the watch's beginning.
std::string_view watch_heading();
std::string watch_row(const LiveFigures& figures, Seconds since);

/// The whole in words, with a table of its shares by `split_by`.
std::string watch_summary(const LiveFigures& whole, const std::string& split_by);

}  // namespace perjoule::cli

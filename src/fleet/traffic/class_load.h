// The load of each class over time, as controllers forecast it: classes are those that requests are
// predicted to be of, as no controller knows any other.
//
//   PJ_TRY(const LoadCurve load, class_load_of(*stream, Seconds(60), *predictor));
//   const ClassLoads most = peak_of(load);
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/plan/load_curve.h"
#include "fleet/traffic/load_class.h"
#include "fleet/traffic/output_predictor.h"
#include "fleet/traffic/request_stream.h"
#include "workload/azure_trace.h"

namespace perjoule {

using ClassLoads = std::array<double, kLoadClasses>;  ///< prompt tokens a second

/// Reads the stream to its end. Bins from 0 on, the last one whole. Requests without tokens, or of
/// more than `most_tokens`, which no engine holds, are no load. Errors of the stream, data_loss
/// where it has no request. Memory: bins.
Result<LoadCurve> class_load_of(RequestStream& stream, Seconds bin, OutputPredictor& predictor,
                                std::int64_t most_tokens);
/// Requests at these rates with lengths picked evenly from `lengths`, at least one.
LoadCurve class_load_of(const std::vector<RateBin>& rates, std::span<const TokenLengths> lengths,
                        OutputPredictor& predictor, std::int64_t most_tokens);

/// The bins of a curve whose rates are requests a second, of one class, from the first one's
/// beginning on.
std::vector<RateBin> rate_bins_of(const LoadCurve& requests);

/// The highest of each class, and of their sum.
ClassLoads peak_of(const LoadCurve& load);
double peak_of_all(const LoadCurve& load);

}  // namespace perjoule

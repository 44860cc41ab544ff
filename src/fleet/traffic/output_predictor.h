// Which output class a request will be of, said when it comes: an interface with a perfect one, one
// that errs as often as it is told, and one that is learnt (learned_predictor.h). A language-model
// encoder over the prompt's text (DynamoLLM has BERT-base) is another implementation of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "fleet/traffic/load_class.h"
#include "fleet/traffic/request_stream.h"

namespace perjoule {

class OutputPredictor {
 public:
  virtual ~OutputPredictor() = default;
  /// The output class, 0 to 2. It may look at the request's output only where it is not real.
  virtual std::size_t predict(const FleetRequest& request) = 0;
};

/// Always right.
std::unique_ptr<OutputPredictor> oracle_predictor();

/// Row: real class, column: what is said; rows add up to 1.
using Confusion = std::array<std::array<double, kLengthClasses>, kLengthClasses>;
/// Errs with this probability, evenly into the two other classes.
Confusion even_confusion(double wrong);
/// Says what the row of the real class has, drawn anew for each request. invalid_argument for
/// shares that are no probabilities.
Result<std::unique_ptr<OutputPredictor>> confused_predictor(const Confusion& confusion,
                                                            std::uint64_t seed);

}  // namespace perjoule

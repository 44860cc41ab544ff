#include "fleet/traffic/output_predictor.h"

#include <cmath>

#include "math/random.h"

namespace perjoule {
namespace {

class Oracle final : public OutputPredictor {
 public:
  std::size_t predict(const FleetRequest& request) override { return output_class(request.output); }
};

class Confused final : public OutputPredictor {
 public:
  Confused(const Confusion& confusion, std::uint64_t seed) : confusion_(confusion), random_(seed) {}
  std::size_t predict(const FleetRequest& request) override {
    double left = random_.uniform();
    const auto& row = confusion_[output_class(request.output)];
    for (std::size_t said = 0; said + 1 < kLengthClasses; ++said) {
      if (left < row[said]) return said;
      left -= row[said];
    }
    return kLengthClasses - 1;
  }

 private:
  Confusion confusion_;
  Random random_;
};

}  // namespace

std::unique_ptr<OutputPredictor> oracle_predictor() { return std::make_unique<Oracle>(); }

Confusion even_confusion(double wrong) {
  Confusion confusion;
  for (std::size_t real = 0; real < kLengthClasses; ++real) {
    for (std::size_t said = 0; said < kLengthClasses; ++said)
      confusion[real][said] = real == said ? 1 - wrong : wrong / (kLengthClasses - 1);
  }
  return confusion;
}

Result<std::unique_ptr<OutputPredictor>> confused_predictor(const Confusion& confusion,
                                                            std::uint64_t seed) {
  for (const auto& row : confusion) {
    double sum = 0;
    for (const double share : row) {
      if (!(share >= 0 && share <= 1))
        return Error::invalid_argument("a confusion's shares must lie between 0 and 1");
      sum += share;
    }
    if (std::abs(sum - 1) > 1e-9)
      return Error::invalid_argument("a confusion's rows must add up to 1");
  }
  return std::unique_ptr<OutputPredictor>(std::make_unique<Confused>(confusion, seed));
}

}  // namespace perjoule

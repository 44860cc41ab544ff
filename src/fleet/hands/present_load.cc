#include "fleet/hands/present_load.h"

#include <algorithm>
#include <utility>

namespace perjoule {
namespace {

class AtLeastPresent final : public LoadForecast {
 public:
  explicit AtLeastPresent(std::unique_ptr<LoadForecast> learnt) : learnt_(std::move(learnt)) {}

  ClassLoads peak(Seconds from, Seconds until) const override {
    ClassLoads most = learnt_->peak(from, until);
    for (std::size_t i = 0; i < kLoadClasses; ++i) most[i] = std::max(most[i], present_[i]);
    return most;
  }

  ForecastBasis basis(Seconds from, Seconds until, std::size_t load_class) const override {
    return present_[load_class] > learnt_->peak(from, until)[load_class]
               ? ForecastBasis::kPresent
               : learnt_->basis(from, until, load_class);
  }

  void observe(Seconds now, const ClassLoads& loads) override {
    learnt_->observe(now, loads);
    present_ = loads;
  }

 private:
  std::unique_ptr<LoadForecast> learnt_;
  ClassLoads present_ = {};
};

}  // namespace

std::unique_ptr<LoadForecast> at_least_present(std::unique_ptr<LoadForecast> learnt) {
  return std::make_unique<AtLeastPresent>(std::move(learnt));
}

}  // namespace perjoule

#include "fleet/hands/recent_load.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace perjoule {
namespace {

class RecentLoad final : public LoadForecast {
 public:
  explicit RecentLoad(Seconds memory) : memory_(memory) {}

  ClassLoads peak(Seconds, Seconds) const override {
    ClassLoads most = {};
    for (const auto& [at, loads] : seen_) {
      for (std::size_t i = 0; i < kLoadClasses; ++i) most[i] = std::max(most[i], loads[i]);
    }
    return most;
  }

  ForecastBasis basis(Seconds, Seconds, std::size_t) const override {
    return ForecastBasis::kRecent;
  }

  void observe(Seconds now, const ClassLoads& loads) override {
    while (!seen_.empty() && seen_.front().first < now - memory_) seen_.pop_front();
    seen_.emplace_back(now, loads);
  }

 private:
  Seconds memory_;
  std::deque<std::pair<Seconds, ClassLoads>> seen_;
};

}  // namespace

std::unique_ptr<LoadForecast> recent_load(Seconds memory) {
  return std::make_unique<RecentLoad>(memory);
}

}  // namespace perjoule

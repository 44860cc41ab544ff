// A small fleet for tests: the shipped engines, a coarse profile of them, a drawn load.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "fleet/engine/load_trial.h"
#include "fleet/engine/table_steps.h"
#include "fleet/simulate/fleet_simulation.h"

namespace perjoule {

inline const std::vector<TokenLengths>& test_lengths() {
  // One of each class, and more of the common ones.
  static const std::vector<TokenLengths> lengths = {
      {100, 20, {}},  {100, 150, {}}, {150, 500, {}},  {500, 30, {}},   {700, 130, {}},
      {900, 400, {}}, {2000, 30, {}}, {2500, 150, {}}, {1500, 400, {}}, {800, 200, {}},
  };
  return lengths;
}

/// The shipped engines with two clocks.
inline const std::vector<std::shared_ptr<const StepModel>>& test_models() {
  static const auto models = [] {
    StepTables tables = shipped_step_tables();
    tables.clocks =
        "gpu,tokens,clock_mhz,time_factor,energy_factor\n"
        "h100,32,1200,1.3,0.86\nh100,352,1200,1.5,0.81\nh100,32,1980,1,1\n";
    return table_steps(tables).value();
  }();
  return models;
}

inline std::vector<InstanceLayout> test_layouts() {
  std::vector<InstanceLayout> layouts;
  for (const auto& model : test_models()) layouts.push_back(model->traits().layout);
  return layouts;
}

/// Of each class and of all together.
inline const ServingProfile& test_profile() {
  static const ServingProfile profile = [] {
    std::vector<std::vector<TokenLengths>> of_class(kPoolClasses);
    for (const TokenLengths& one : test_lengths()) {
      of_class[load_class(input_class(one.prompt), output_class(one.output))].push_back(one);
      of_class[kMixedClass].push_back(one);
    }
    ServingProfile made;
    for (const auto& model : test_models()) {
      for (std::size_t clock = 0; clock < model->traits().clocks_mhz.size(); ++clock) {
        for (std::size_t pool = 0; pool < kPoolClasses; ++pool) {
          ProfileCurve curve;
          curve.layout = model->traits().layout;
          curve.clock_mhz = model->traits().clocks_mhz[clock];
          if (pool != kMixedClass) curve.load_class = name_of_class(static_cast<LoadClass>(pool));
          for (const double load : {250.0, 1000.0, 2000.0, 4000.0}) {
            curve.points.push_back(serve_trial(*model, {.most_running = 256, .step_tokens = 512},
                                               clock,
                                               {.lengths = of_class[pool], .prompt_rate = load},
                                               {.requests = 200, .time = Seconds(10)}));
          }
          made.curves.push_back(std::move(curve));
        }
      }
    }
    return made;
  }();
  return profile;
}

/// Half an hour that rises and falls, requests a second at its highest.
inline std::unique_ptr<RequestStream> test_stream(double most, std::uint64_t seed = 1,
                                                  double minutes = 30) {
  std::vector<RateBin> bins;
  for (double minute = 0; minute < minutes; ++minute) {
    const double share =
        0.4 + 0.6 * (minute < minutes / 2 ? minute : minutes - minute) * 2 / minutes;
    bins.push_back({Seconds(60 * minute), Seconds(60 * (minute + 1)), Hertz(most * share)});
  }
  return drawn(std::move(bins), test_lengths(), seed);
}

/// What a policy needs, alive as long as this.
struct TestFleet {
  explicit TestFleet(double most, double attainment = 0.9)
      : capacity(EngineCapacity::make(test_profile(), test_layouts(), attainment).value()),
        predictor(oracle_predictor()) {
    ClassLoads loads = {};
    for (const TokenLengths& one : test_lengths()) {
      loads[load_class(input_class(one.prompt), output_class(one.output))] +=
          most * static_cast<double>(one.prompt) / static_cast<double>(test_lengths().size());
    }
    LoadCurve load;
    load.classes.assign(kLoadClasses, "");
    load.bins.push_back({Seconds(0), Seconds(86'400), {loads.begin(), loads.end()}});
    forecast = known_load(std::move(load));
    setup.models = test_models();
    setup.capacity = &capacity;
    setup.forecast = forecast.get();
    setup.peak = loads;
    for (const double one : loads) setup.peak_of_all += one;
    setup.predictor = predictor.get();
    setup.transitions.start = Seconds(60);
  }
  EngineCapacity capacity;
  std::unique_ptr<OutputPredictor> predictor;
  std::unique_ptr<LoadForecast> forecast;
  FleetSetup setup;
};

}  // namespace perjoule

#include "serving/board/energy_stars.h"

#include <gtest/gtest.h>

#include "base/csv.h"
#include "base/file.h"
#include "serving/board/gpu_tdp.h"

namespace perjoule {
namespace {

std::vector<Joules> joules(std::initializer_list<double> values) {
  std::vector<Joules> energies;
  for (const double value : values) energies.emplace_back(value);
  return energies;
}

TEST(EnergyStars, FifthsOfTheRange) {
  // Span 0 to 100: fifths begin at 0, 20, 40, 60 and 80.
  EXPECT_EQ(stars_by_range(joules({0, 19.9, 20, 40, 60, 80, 100})),
            (std::vector<int>{5, 5, 4, 3, 2, 1, 1}));
}

TEST(EnergyStars, FifthsOfTheModels) {
  EXPECT_EQ(stars_by_rank(joules({50, 10, 30, 20, 40})), (std::vector<int>{1, 5, 3, 4, 2}));
  EXPECT_EQ(stars_by_rank(joules({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})),
            (std::vector<int>{5, 5, 4, 4, 3, 3, 2, 2, 1, 1}));
}

TEST(EnergyStars, TheReadingsDifferWhereOneUsesMuchMore) {
  const auto energies = joules({1, 2, 3, 4, 1000});
  EXPECT_EQ(stars_by_range(energies), (std::vector<int>{5, 5, 5, 5, 1}));
  EXPECT_EQ(stars_by_rank(energies), (std::vector<int>{5, 4, 3, 2, 1}));
}

TEST(EnergyStars, EqualOnesAndNone) {
  EXPECT_EQ(stars_by_range(joules({3, 3})), (std::vector<int>{5, 5}));
  EXPECT_EQ(stars_by_rank(joules({3, 3, 3, 3, 9})), (std::vector<int>{5, 5, 5, 5, 1}));
  EXPECT_TRUE(stars_by_range({}).empty());
  EXPECT_TRUE(stars_by_rank({}).empty());
}

TEST(EnergyStars, ClassesBySize) {
  EXPECT_EQ(size_class(20), 'A');
  EXPECT_EQ(size_class(66), 'B');
  EXPECT_EQ(size_class(70), 'C');
}

TEST(GpuTdp, NamesOfDriversAndShortOnes) {
  EXPECT_EQ(gpu_tdp("NVIDIA H100 80GB HBM3"), Watts(700));
  EXPECT_EQ(gpu_tdp("H100"), Watts(700));
  EXPECT_EQ(gpu_tdp("NVIDIA H100 PCIe"), Watts(350));
  EXPECT_EQ(gpu_tdp("NVIDIA A100-SXM4-40GB"), Watts(400));
  EXPECT_EQ(gpu_tdp("NVIDIA GB200"), Watts(1200));
  EXPECT_EQ(gpu_tdp("B200"), Watts(1000));
  EXPECT_EQ(gpu_tdp("NVIDIA L40S"), Watts(350));
  EXPECT_FALSE(gpu_tdp("abacus"));
}

TEST(GpuTdp, EveryRowOfTheTableIsReached) {
  const auto table = read_csv(std::string(PERJOULE_SOURCE_DIR) + "/data/gpu_tdp.csv");
  ASSERT_TRUE(table) << table.error().text();
  for (std::size_t i = 0; i < table->rows(); ++i)
    EXPECT_EQ(gpu_tdp(table->cell(i, 0)), Watts(*table->number(i, 1))) << table->cell(i, 0);
}

TEST(GpuTdp, TheEstimateIsTdpOverPower) {
  BenchResult r;
  r.gpus = {"H100", "", 2};
  EXPECT_FALSE(tdp_estimate(r));
  r.power = Watts(700);
  r.energy.output_token = published_energy(Joules(0.5), "x");
  const auto estimate = tdp_estimate(r);
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->ratio, 2);
  EXPECT_DOUBLE_EQ(estimate->per_unit.value(), 1);
}

}  // namespace
}  // namespace perjoule

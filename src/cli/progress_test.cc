#include "cli/progress.h"

#include <gtest/gtest.h>

namespace perjoule::cli {
namespace {

TEST(Progress, ALineHasABarAndAShare) {
  EXPECT_EQ(progress_line(0, "x"), "[....................]   0 %  x");
  EXPECT_EQ(progress_line(0.5, "ncf under zeus"), "[##########..........]  50 %  ncf under zeus");
  EXPECT_EQ(progress_line(1.5, "x"), "[####################] 100 %  x");
}

}  // namespace
}  // namespace perjoule::cli

#include "cli/table.h"

#include <gtest/gtest.h>

namespace perjoule::cli {
namespace {
TEST(Table, ColumnsAlignAndLinesHaveNoTrailingBlanks) {
  Table table({{"name"}, {"power", Table::Align::kRight}});
  table.add({"gpu 0", "98 W"});
  table.add({"µ", "1.2 kW"});
  table.add({"none"});
  EXPECT_EQ(table.text(),
            "name    power\n"
            "gpu 0    98 W\n"
            "µ      1.2 kW\n"
            "none\n");
}
}  // namespace
}  // namespace perjoule::cli

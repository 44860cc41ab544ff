// A small scatter plot in text: time to the right, energy upwards.
//
//   energy
//   82.59 J |o
//           |   o  .
//   51.12 J |        o  *
//           +-------------
//            33.8 ms     279 ms  time
#pragma once

#include <string>
#include <vector>

namespace perjoule::cli {

/// One dot; of two in the same cell the one of higher rank is shown.
struct Dot {
  double x = 0;
  double y = 0;
  char mark = '.';
  int rank = 0;
};

struct ScatterLabels {
  std::string x_name;
  std::string y_name;
  std::string x_low;
  std::string x_high;
  std::string y_low;
  std::string y_high;
};

/// `columns` by `rows` cells. An axis whose positive values span more than a factor of 30 is drawn
/// in logarithms and its name says so. Empty without dots.
std::string scatter(const std::vector<Dot>& dots, const ScatterLabels& labels, std::size_t columns,
                    std::size_t rows);

}  // namespace perjoule::cli

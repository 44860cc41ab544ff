#include "cli/scatter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace perjoule::cli {

namespace {

/// Maps a range of values onto cells 0 to cells - 1.
class Axis {
 public:
  explicit Axis(std::size_t cells) : cells_(cells) {}
  void see(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  bool logarithmic() const { return low_ > 0 && high_ > 30 * low_; }
  std::size_t cell(double value) const {
    const bool logs = logarithmic();
    const double low = logs ? std::log(low_) : low_;
    const double high = logs ? std::log(high_) : high_;
    if (!(high > low)) return 0;
    const double share = ((logs ? std::log(value) : value) - low) / (high - low);
    return std::min(cells_ - 1,
                    static_cast<std::size_t>(std::lround(share * static_cast<double>(cells_ - 1))));
  }

 private:
  std::size_t cells_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + text;
}

}  // namespace

std::string scatter(const std::vector<Dot>& dots, const ScatterLabels& labels, std::size_t columns,
                    std::size_t rows) {
  if (dots.empty()) return {};
  Axis x(columns);
  Axis y(rows);
  for (const Dot& dot : dots) {
    x.see(dot.x);
    y.see(dot.y);
  }
  std::vector<std::string> canvas(rows, std::string(columns, ' '));
  std::vector<std::vector<int>> ranks(rows, std::vector<int>(columns, -1));
  for (const Dot& dot : dots) {
    const std::size_t row = rows - 1 - y.cell(dot.y);
    const std::size_t column = x.cell(dot.x);
    if (dot.rank < ranks[row][column]) continue;
    ranks[row][column] = dot.rank;
    canvas[row][column] = dot.mark;
  }
  const std::size_t margin = std::max(display_width(labels.y_low), display_width(labels.y_high));
  std::string out = labels.y_name + (y.logarithmic() ? " (log)" : "") + "\n";
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string label = row == 0 ? labels.y_high : (row + 1 == rows ? labels.y_low : "");
    std::string line = padded(label, margin) + " |" + canvas[row];
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out += std::string(margin + 1, ' ') + "+" + std::string(columns, '-') + "\n";
  const std::size_t room = columns - std::min(columns, display_width(labels.x_low));
  out += std::string(margin + 2, ' ') + labels.x_low + padded(labels.x_high, room) + "  " +
         labels.x_name + (x.logarithmic() ? " (log)" : "") + "\n";
  return out;
}

}  // namespace perjoule::cli

// A bar on standard error while something long goes on, on a terminal only.
//
//   Progress progress;
//   progress.show(0.25, "ncf under zeus");   // [#####...............]  25 %  ncf under zeus
#pragma once

#include <string>

namespace perjoule::cli {

/// The bar's line, without moving the cursor.
std::string progress_line(double share, const std::string& what);

class Progress {
 public:
  Progress();
  /// Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool live() const { return live_; }
  /// Draws when the whole percent or the words changed: cheap to call often.
  void show(double share, const std::string& what);

 private:
  bool live_;
  int percent_ = -1;
  std::string what_;
};

}  // namespace perjoule::cli

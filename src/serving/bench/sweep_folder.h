// A sweep's folder: a file a point that was measured, an index made from those files, and a lock,
// so that it can be interrupted anywhere and taken up again.
//
//   PJ_TRY(SweepFolder folder, SweepFolder::open("b200-sweep"));
//   for (const Config& point : points)
//     if (!folder.is_done(point) && measure_into(folder.part_of(point))) folder.keep(point);
//   PJ_CHECK(folder.write_index(points));
//
// A point is done when its file is there under its own name, which it gets only once it is whole.
// Nothing else says so: there is no list that could disagree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/file.h"
#include "base/result.h"

namespace perjoule {

/// "concurrency=8,max-num-seqs=32": what a point's file is called by. Characters that file systems
/// or shells dislike are replaced, and what is longer than 120 ends in a number made of all of it.
std::string sweep_key(const Config& point);

class SweepFolder {
 public:
  /// Makes it where it is not there. conflict while another sweep holds it.
  static Result<SweepFolder> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string file_of(const Config& point) const;
  /// Where it is written until it is known to be whole; keep() gives it its own name.
  std::string part_of(const Config& point) const;
  Outcome keep(const Config& point) const;
  std::string log_of(const Config& point) const;
  bool is_done(const Config& point) const;

  /// What all points share, and so what tells this sweep from another. A folder that holds results
  /// of another one is refused: conflict.
  Outcome agree_on(std::string_view shared) const;
  /// perjoule.bench-sweep.v1: of each point its settings, file and whether it is there.
  Outcome write_index(const std::vector<Config>& points) const;

 private:
  explicit SweepFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  FileDescriptor lock_;
};

}  // namespace perjoule

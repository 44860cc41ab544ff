// How a program that is measured says that an epoch of its training ended: a line to the descriptor
// PERJOULE_EPOCH_FD, in whatever way its steps are counted.
//
//   PJ_TRY(EpochPipe epochs, EpochPipe::open(options.spawn));
//   ... run the program ...
//   if (epochs.ended()) ...                  // since it was asked last
#pragma once

#include "base/file.h"
#include "base/process.h"

namespace perjoule::cli {

class EpochPipe {
 public:
  /// Lets the program to be spawned inherit it, and tells it which descriptor it is.
  static Result<EpochPipe> open(SpawnOptions& spawn);
  /// Whether anything was written since the last call; what, does not matter.
  bool ended();

 private:
  EpochPipe(FileDescriptor read, FileDescriptor write)
      : read_(std::move(read)), write_(std::move(write)) {}

  FileDescriptor read_;
  FileDescriptor write_;  ///< the child's; open here too, so that one that closes it is no end
};

}  // namespace perjoule::cli

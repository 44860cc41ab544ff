#include "cli/epoch_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace perjoule::cli {

Result<EpochPipe> EpochPipe::open(SpawnOptions& spawn) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return Error::from_errno(errno, "making the epoch pipe");
  spawn.keep_open.push_back(ends[1]);
  spawn.variables.emplace_back("PERJOULE_EPOCH_FD", std::to_string(ends[1]));
  return EpochPipe(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

bool EpochPipe::ended() {
  char buffer[512];
  bool any = false;
  while (::read(read_.get(), buffer, sizeof(buffer)) > 0) any = true;
  return any;
}

}  // namespace perjoule::cli
